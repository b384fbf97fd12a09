"""The table of statuses agrees with NVIDIA's own enumeration and strings."""

import pytest
from cuda.bindings import runtime
from cuda.bindings.driver import CUresult

from cumulticast.rules import Status
from cumulticast.rules.status import read_table

ROWS = [pytest.param(*row, id=str(row[0])) for row in read_table()]
WITHOUT_STRING = {Status.MULTICAST_RESOURCE_FULL, Status.CONTEXT_ALREADY_CURRENT, Status.KEY_ROTATION}


def test_the_table_has_every_result_and_no_other() -> None:
    assert {status: status.cuda_name for status in Status} == {int(result): result.name for result in CUresult}


@pytest.mark.parametrize(("code", "name", "text"), ROWS)
def test_a_status_is_found_by_number_and_by_name(code: int, name: str, text: str) -> None:
    status = Status(code)
    assert getattr(Status, name.removeprefix("CUDA_").removeprefix("ERROR_")) is status
    assert (status.cuda_name, status.text) == (name, text)


@pytest.mark.parametrize(("code", "name", "text"), [row for row in ROWS if row.values[0] not in WITHOUT_STRING])
def test_a_string_is_the_one_that_the_runtime_answers(code: int, name: str, text: str) -> None:
    error, answer = runtime.cudaGetErrorString(runtime.cudaError_t(code))
    assert error == 0
    assert answer.decode() == text


@pytest.mark.parametrize("status", sorted(WITHOUT_STRING))
def test_strings_of_our_own_are_only_where_the_runtime_has_none(status: Status) -> None:
    assert int(status) not in [int(error) for error in runtime.cudaError_t]
    assert status.text
    assert not status.text.startswith("~")
