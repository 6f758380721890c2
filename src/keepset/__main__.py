"""``python -m keepset`` is the command line."""

from keepset.cli.main import main

if __name__ == "__main__":
    main(prog_name="keepset")
