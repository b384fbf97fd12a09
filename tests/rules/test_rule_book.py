"""How a rule behaves as an object: message, lookup, profiles, refusal."""

import pytest

from cumulticast.rules import Refused, Status, binding, find, lifetime, team_waits, unbinding
from cumulticast.rules.text import bytes_text, listed, nearest_multiples, python_name, size_text

MIB = 1 << 20


def test_the_message_has_code_call_value_sentence_and_nearest_values() -> None:
    reason = binding.size_granularity.check(3 * MIB, 2 * MIB)
    assert binding.size_granularity.describe("cuMulticastBindMem", reason) == (
        "MC304 multicast_bind_mem: size 3145728 is not a multiple of 2097152 (2 MiB); "
        "nearest 2097152 or 4194304. More: cumulticast rules MC304"
    )


def test_a_rule_is_found_by_its_code_in_any_case() -> None:
    assert find("mc304") is binding.size_granularity


@pytest.mark.parametrize(
    ("code", "says"), [("MC303", "MC302 and MC304"), ("MC9999", "MC1302 and MC1303"), ("U4", "MC304")]
)
def test_an_unknown_code_names_the_nearest(code: str, says: str) -> None:
    with pytest.raises(KeyError, match=says):
        find(code)


@pytest.mark.parametrize(
    ("rule", "strict", "hardware"),
    [
        (binding.size_granularity, "refuses", "refuses"),
        (binding.within_object, "refuses", "reports"),
        (binding.within_extent, "nothing", "refuses"),
        (binding.bind_recommended, "reports", "reports"),
        (team_waits.bind_waits, "nothing", "nothing"),
        (unbinding.unbind_exact, "refuses", "reports"),
        (lifetime.memory_outlives_binds, "reports", "reports"),
        (lifetime.release_valid, "refuses", "refuses"),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_profiles_decide_between_refusal_and_finding(rule: object, strict: str, hardware: str) -> None:
    for profile, expected in (("strict", strict), ("hardware", hardware)):
        does = "refuses" if rule.refuses(profile) else "reports" if rule.reports(profile) else "nothing"
        assert does == expected, profile


def test_a_refusal_carries_status_rule_and_reason() -> None:
    refusal = Refused(Status.INVALID_VALUE, binding.size_granularity, "size 1 is wrong")
    assert (refusal.status, refusal.rule, refusal.reason) == (1, binding.size_granularity, "size 1 is wrong")
    assert str(refusal) == "MC304: size 1 is wrong -> 1 (CUDA_ERROR_INVALID_VALUE)"
    assert str(Refused(Status.TIMEOUT, None, "injected")) == "injected -> 909 (CUDA_ERROR_TIMEOUT)"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (256, "256 bytes"), (4096, "4 KiB"), (2 * MIB, "2 MiB"),
     (3 * MIB, "3 MiB"), (3 * MIB + MIB // 2, "about 3.5 MiB"), (1 << 30, "1 GiB"), (5 << 40, "5 TiB")],
)  # fmt: skip
def test_sizes_are_said_in_the_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text


def test_small_sizes_are_not_said_twice() -> None:
    assert (bytes_text(256), bytes_text(2 * MIB)) == ("256", "2097152 (2 MiB)")


def test_nearest_multiples_leave_out_what_is_no_answer() -> None:
    assert nearest_multiples(5, 4) == "4 or 8"
    assert nearest_multiples(1, 4) == "0 or 4"
    assert nearest_multiples(1, 4, least=1) == "4"
    assert nearest_multiples(0x1001, 0x1000, shown="#x") == "0x1000 or 0x2000"


def test_numbers_are_listed_in_words() -> None:
    assert [listed(()), listed((3,)), listed((0, 1)), listed((0, 1, 5))] == [
        "none",
        "3",
        "0 and 1",
        "0, 1 and 5",
    ]


@pytest.mark.parametrize(
    ("call", "name"),
    [("cuMulticastBindMem", "multicast_bind_mem"), ("cuMulticastBindMem_v2", "multicast_bind_mem_v2"),
     ("cuMemcpyHtoD_v2", "memcpy_htod_v2"), ("cuMemsetD2D32Async", "memset_d2d32_async"), ("cuInit", "init"),
     ("cuDeviceGetP2PAttribute", "device_get_p2p_attribute"),
     ("cuMemcpy2DUnaligned_v2", "memcpy_2d_unaligned_v2")],
)  # fmt: skip
def test_calls_are_named_as_in_python(call: str, name: str) -> None:
    assert python_name(call) == name
