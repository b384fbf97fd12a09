"""First fit against a list of bytes that says which are taken."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cumulticast.layout.first_fit import FirstFit
from cumulticast.layout.sizes import nearest_power

SIZE = 2000


class Model(RuleBasedStateMachine):
    """Every answer is the lowest one that a search of single bytes finds."""

    def __init__(self):
        super().__init__()
        self.heap = FirstFit(SIZE)
        self.taken = bytearray(SIZE)
        self.live: dict[int, int] = {}

    @rule(nbytes=st.integers(1, 200), alignment=st.sampled_from([1, 2, 16, 64, 256]))
    def allocate(self, nbytes, alignment):
        places = range(0, SIZE - nbytes + 1, alignment)
        lowest = next((at for at in places if not any(self.taken[at : at + nbytes])), None)
        assert self.heap.allocate(nbytes, alignment) == lowest
        if lowest is not None:
            self.taken[lowest : lowest + nbytes] = b"\1" * nbytes
            self.live[lowest] = nbytes

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free(self, data):
        offset = data.draw(st.sampled_from(sorted(self.live)))
        nbytes = self.live.pop(offset)
        self.heap.free(offset)
        self.taken[offset : offset + nbytes] = bytes(nbytes)

    @invariant()
    def counts(self):
        assert self.heap.used == sum(self.taken)
        assert self.heap.free_bytes == SIZE - sum(self.taken)
        assert self.heap.largest == max(map(len, bytes(self.taken).split(b"\1")))


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestModel = Model.TestCase


@pytest.mark.parametrize("seed", range(3))
def test_many_blocks_join_to_one_again(seed):
    heap = FirstFit(3000 * 256)
    offsets = [heap.allocate(256) for _ in range(3000)]
    assert offsets == list(range(0, 3000 * 256, 256)) and heap.allocate(1) is None
    Random(seed).shuffle(offsets)
    for offset in offsets[:1500]:
        heap.free(offset)
    again = [heap.allocate(256) for _ in range(1500)]
    assert again == sorted(offsets[:1500]) and heap.largest == 0
    for offset in offsets:
        heap.free(offset)
    assert heap.largest == heap.free_bytes == 3000 * 256 and heap.used == 0


def test_a_second_free_names_the_nearest_that_lives():
    heap = FirstFit(1024)
    first, second = heap.allocate(100), heap.allocate(100)
    heap.free(first)
    with pytest.raises(ValueError, match="offset 0 is not allocated; the nearest is 256"):
        heap.free(first)
    heap.free(second)
    with pytest.raises(ValueError, match="nothing is"):
        heap.free(second)


@pytest.mark.parametrize(("alignment", "nearest"), [(0, 1), (-4, 1), (3, 4), (5, 4), (100, 128), (300, 256)])
def test_an_alignment_that_is_no_power_of_two(alignment, nearest):
    with pytest.raises(ValueError, match=f"alignment {alignment} is not a power of two; the nearest is {nearest}"):
        FirstFit(1024).allocate(1, alignment)
    assert FirstFit(1024).allocate(1, nearest) == 0


def test_sizes_that_are_not_positive():
    with pytest.raises(ValueError, match="size 0 is not positive; the smallest is 1"):
        FirstFit(0)
    with pytest.raises(ValueError, match="nbytes 0 is not positive; the smallest is 1"):
        FirstFit(1).allocate(0)
    assert FirstFit(1).allocate(1) == 0


@given(st.integers(1, 1 << 40))
def test_nearest_power_is_a_power_and_none_is_nearer(value):
    power = nearest_power(value)
    assert power & (power - 1) == 0
    assert all(abs(value - power) <= abs(value - (1 << bit)) for bit in range(42))
