"""Teams: ranks, one device each, that share symmetric memory and multicast objects over it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from . import collectives
from .array import SymmetricArray, an_array
from .comm import Comm, CommError, LocalComm, open_comm
from .devices import DeviceLike, Granularity, device_ordinal
from .foundation import Foundation, lay, place_of_rank
from .heap import Usage
from .members import Members, Options
from .ranks import END, Ranks
from .shapes import dtype_of, nbytes_of, shape_of
from .vote import before, lost, why_left


class Team(Ranks):
    """Ranks that share memory. Make one with `Team.local` or `Team.join`.

        with Team.local(range(8)) as team:
            x = team.empty(1024, "float32")
            team.all_reduce(x)

    Its attributes, and what its ranks do together, are those of `Ranks`.
    """

    def __init__(self, foundation: Foundation) -> None:
        if not isinstance(foundation, Foundation):  # pyright: ignore[reportUnnecessaryIsInstance] (users are not typed)
            raise TypeError("a team is made by Team.local(devices), or Team.join() in each process")
        super().__init__(foundation)
        self._arrays: set[SymmetricArray] = set()
        self.undo(foundation.close)

    # ---- beginning

    @classmethod
    def local(
        cls,
        devices: Sequence[DeviceLike],
        *,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 1.0,
        granularity: Granularity = "minimum",
        require_multicast: bool = True,
    ) -> Self:
        """Make a team of one process: rank i is ``devices[i]``.

        Parameters
        ----------
        devices
            Ordinals or `cuda.core.Device`s. Without multicast a device may stand there several times.
        timeout
            Seconds that a collective waits for a rank that does not come.
        retries, backoff
            How often to try again when the driver answers 802, and the seconds before the first time; they double.
        granularity
            ``minimum`` or ``recommended``: what memory is rounded up to.
        require_multicast
            False: where there is no multicast, the same over peer memory, and ``why_not`` says why.

        Raises
        ------
        TeamError
            A step failed; nothing is left of it.
        TypeError, ValueError
            There is no such device.
        """
        options = Members.options(timeout, retries, backoff, granularity)
        if isinstance(devices, int):
            raise TypeError(f"devices {devices}: name all of them, such as range({devices})")
        with before("agree", LocalComm(), timeout):
            ordinals = tuple(device_ordinal(device) for device in devices)
        if not ordinals:
            raise ValueError("devices is empty: a team has at least one rank")
        return cls(lay(Members.of_one_process(ordinals, options), require_multicast=require_multicast))

    @classmethod
    def join(
        cls,
        comm: Any = None,
        device: DeviceLike | None = None,
        *,
        rank: int | None = None,
        size: int | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 1.0,
        granularity: Granularity = "minimum",
        require_multicast: bool = True,
    ) -> Self:
        """Join a team of several processes as one rank. All ranks call this, with the same options.

        Parameters
        ----------
        comm
            How the ranks find each other. None: by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun and
            ``cumulticast run --ranks`` set them. ``"tcp://host:port"`` or ``"file:///path"`` with rank and size. An
            mpi4py communicator. A torch.distributed group.
        device
            An ordinal or a `cuda.core.Device`; None: the one that LOCAL_RANK names, or the only one there is.
        rank, size
            This rank, and how many there are, where comm does not know.
        timeout
            Seconds that each step may take until all ranks have come to its end.
        retries, backoff, granularity, require_multicast
            As for `Team.local`; ranks try again together.

        Raises
        ------
        TeamError
            A rank failed, died or did not come; the same on all ranks that live. Nothing is left of the team.
        TypeError, ValueError
            The arguments, or the environment, tell no way to the other ranks; there is no such device.
        """
        options = Members.options(timeout, retries, backoff, granularity)
        try:
            ours = open_comm(comm, rank, size, timeout)
        except CommError as error:
            raise lost(error, "join") from error
        return cls._joined(ours, device, options, require_multicast)

    @classmethod
    def _joined(cls, comm: Comm, device: DeviceLike | None, options: Options, require_multicast: bool) -> Self:
        try:
            with before("agree", comm, options["timeout"]):
                ordinal = place_of_rank(device)
            members = Members(comm, comm.size, (comm.rank,), (ordinal,), **options)
            return cls(lay(members, require_multicast=require_multicast))
        except BaseException as error:
            comm.close(why_left(error))
            raise

    # ---- arrays

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> SymmetricArray:
        """Make an array with a replica on every rank; what it holds is not defined.

        All ranks make the same calls in the same order. Where the team's memory has room, no message is exchanged.
        Where it has none, all ranks bring up a block of new memory together.

        Parameters
        ----------
        shape
            Of each replica, at least one element.
        dtype
            A numpy dtype or its name; ``"bfloat16"`` and the names of ml_dtypes too.

        Raises
        ------
        TeamError
            New memory was needed, and a rank failed; the team is as before.
        """
        extents, kind = shape_of(shape), dtype_of(dtype)
        with self.turns:
            self.check_open()
            block, offset = self._heap.allocate(nbytes_of(extents, kind))
            array = SymmetricArray(self, block, offset, extents, kind)
            self._arrays.add(array)
            array.undo(self._take_back, array)
        return array

    def share(self, array: SymmetricArray) -> SymmetricArray:
        """Answer another team's array under this team's multicast object: two teams over the same memory.

        Every rank of this team calls it, with an array of one other team that it belongs to. The new array begins at
        the same memory; writes through one are seen through the other.

        Raises
        ------
        TeamError
            A rank failed; nothing is left of it.
        """
        with self.turns:
            self.check_open()
            an_array(array).check_open()
            block, offset = self._foundation.second_view(array.block, array.offset, array.nbytes, array.team.mine)
            shared = SymmetricArray(self, block, offset, array.shape, array.dtype)
            self._arrays.add(shared)
            shared.undo(self._arrays.discard, shared)
            shared.undo(block.close)
        return shared

    @property
    def usage(self) -> Usage:
        """How the team uses the memory of each device: blocks, bytes reserved, used and free."""
        return self._heap.usage

    def _take_back(self, array: SymmetricArray) -> None:
        self._arrays.discard(array)
        if not self.closed:
            self._heap.free(array.block, array.offset)

    # ---- parts of the team

    def split(self, ranks: Sequence[int]) -> Team:
        """Make a team of some of the ranks. They all call this, and no other rank does.

        Parameters
        ----------
        ranks
            Ranks of this team; their order gives the new numbers.

        Raises
        ------
        TeamError
            A rank failed, died or did not come.
        ValueError
            A rank stands twice, does not exist, or this process is not among them.
        """
        self.check_open()
        chosen = self._chosen(ranks)
        options = self._members.chosen
        require = self._foundation.require_multicast
        if self._members.comm.size == 1:
            devices = tuple(self.devices[rank] for rank in chosen)
            return Team(lay(Members.of_one_process(devices, options), require_multicast=require))
        try:
            comm = self._members.comm.split(chosen)
        except CommError as error:
            raise lost(error, "join") from error
        return Team._joined(comm, self.devices[0], options, require)

    def _chosen(self, ranks: Sequence[int]) -> list[int]:
        chosen = [self.check_rank(rank) for rank in ranks]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"ranks {list(ranks)}: name at least one, and each once")
        if self.rank is not None and self.rank not in chosen:
            raise ValueError(f"this is rank {self.rank}, which is not among {chosen}: only members call split")
        return chosen

    # ---- end

    def close(self) -> None:
        """Give everything back: arrays, mappings, bindings, objects, memory. All ranks call it.

        It waits, up to the time limit, until all ranks have come and what was handed to the devices is done, since a
        rank that unbinds its memory takes a replica from under the kernels of the others. Ranks that are dead are not
        waited for. A second call does nothing.

        Raises
        ------
        TeamError
            A collective had failed, and no call since has told of it. All steps were carried out all the same.
        cumulticast.driver.DriverError
            The driver refused a step; the others were carried out all the same.
        """
        self._end(meet=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close. After an exception the other ranks are not waited for; they learn that this one left, and why."""
        if error is None:
            self._end(meet=True)
            return
        try:
            self._end(meet=False, reason=why_left(error))
        except Exception as problem:  # what the user's code raised comes first
            error.add_note(f"closing the team failed as well: {problem!r}")

    def _end(self, *, meet: bool, reason: str = "") -> None:
        with self.turns:
            if not self.closed:
                self._leave(meet, reason)

    def _leave(self, meet: bool, reason: str) -> None:
        try:
            self._meet_and_give_back(meet)
        except BaseException as error:
            reason = reason or why_left(error)
            raise
        finally:
            self._members.comm.close(reason)

    def _meet_and_give_back(self, meet: bool) -> None:
        with ExitStack() as last:
            last.callback(self._give_back)
            last.callback(self._watch.stop)
            self._foundation.contexts.synchronize()  # nothing goes away under a kernel of ours
            self._watch.stop()  # before the others leave, which is no failure now
            if meet and not self._told:
                self.check_results()
            if meet and self._members.comm.size > 1:
                with suppress(CommError):  # whoever is gone uses nothing any more
                    self._members.comm.exchange(b"", END, self.timeout)

    def _give_back(self) -> None:
        self.undo(collectives.close, self)
        arrays = list(self._arrays)
        super().close()
        for array in arrays:
            array.close()

    def __repr__(self) -> str:
        """Show who is in it."""
        who = f"ranks 0-{self.size - 1}" if self.rank is None else f"rank {self.rank} of {self.size}"
        return f"Team({who}, {'multicast' if self.has_multicast else 'peer memory'})"
