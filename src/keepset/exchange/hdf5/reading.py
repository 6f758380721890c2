"""HDF5 files: the rows of data sets, with groups as nested dicts."""

from __future__ import annotations

from typing import Any

from keepset.core.node import stage
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_paths import (
    Path,
    check_lengths,
    chosen_members,
    field_paths,
    joined,
    may_hold,
    nested,
)
from keepset.exchange.arrays.column_source import ColumnSource
from keepset.exchange.arrays.columns_file import ColumnFiles, ColumnsFile
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.hdf5.column import hdf5_column, problem_of, type_problem_of
from keepset.exchange.hdf5.library import damage_of, h5py, open_hdf5
from keepset.exchange.hdf5.links import data_sets, object_at


@stage
class ReadHdf5(ColumnFiles):
    """The rows of the data sets below a group of each file."""

    group: str = "/"

    def __post_init__(self) -> None:
        h5py()

    def open_file(self, place: Place) -> RowFile:
        file = open_hdf5(place)
        try:
            with damage_of(place):
                return Hdf5Rows(file, self.group, self.columns, place)
        except BaseException:
            file.close()
            raise


class Hdf5Rows(ColumnsFile):
    """The rows of a file's data sets, or of one alone."""

    def __init__(
        self, file: Any, group: str, columns: tuple[Any, ...] | None, place: Place
    ) -> None:
        self._file, self._place = file, place
        found = object_at(file, group, place)
        if isinstance(found, h5py().Dataset):
            super().__init__(_alone(found, group, columns, place))
        else:
            super().__init__(_together(found, group, columns, place))

    def close(self) -> None:
        super().close()
        self._file.close()


def _alone(found: Any, group: str, columns: tuple[Any, ...] | None, place: Place) -> ColumnSource:
    where = f"{place.name}: {group!r}"
    if (problem := problem_of(found)) is not None:
        raise InvalidArgumentError(f"{where} is no column of a table ({problem})")
    paths = field_paths(found.dtype)
    if columns is not None and paths == [()]:
        raise InvalidArgumentError(
            f"{where} is a data set without named fields; leave out columns={columns!r}"
        )
    [(_, fields)] = chosen_members([()], lambda _: paths, columns, where)
    if (problem := type_problem_of(found, fields)) is not None:
        raise InvalidArgumentError(f"{where} is no column of a table ({problem})")
    return hdf5_column(found, fields, place, group)


def _together(group: Any, name: str, columns: tuple[Any, ...] | None, place: Place) -> Any:
    where = place.name if name.strip("/") == "" else f"{place.name}: {name!r}"
    found = dict(data_sets(group, place, lambda path: may_hold(joined(path), columns)))
    problems = {path: problem_of(each) for path, each in found.items() if each is not None}

    def fields_of(path: Path) -> list[Path]:
        return [()] if problems[path] is not None else field_paths(found[path].dtype)

    wanted = chosen_members(found, fields_of, columns, where)
    facts: dict[str, int | str] = {}
    for path, fields in wanted:
        problem = problems[path] or type_problem_of(found[path], fields)
        facts[joined(path)] = problem or len(found[path])
    check_lengths(facts, where)
    sources = [
        (path, hdf5_column(found[path], fields, place, joined(path))) for path, fields in wanted
    ]
    return nested(sources, where)
