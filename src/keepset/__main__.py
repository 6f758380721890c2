"""``python -m keepset``: the command line."""

from keepset_command import main

if __name__ == "__main__":
    main()
