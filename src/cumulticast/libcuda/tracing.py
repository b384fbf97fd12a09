"""Record every driver call: what it was given, what it answered, how long it took, what was noticed.

Only when CUMULTICAST_TRACE names a file. Then the functions that answer calls are wrapped, and the two others that
door.c asks (`otherwise`, `failed`) are stood in for; without it nothing of this is in the way. A call is one line,
written when it is over: a blocked one is asked for many times, and its line has the whole duration.

A call is found again by its thread. It can have others inside it (a signal handler or a log callback that calls the
driver), so each thread has a stack of calls that are neither answered nor running.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cumulticast.libcuda.trace_form import Form
from cumulticast.libcuda.trace_values import dumps
from cumulticast.rules import Refused
from cumulticast.sim.entry import NotReady, Wait
from cumulticast.sim.trace_file import TraceFile

if TYPE_CHECKING:
    from cumulticast.libcuda.glue import Function
    from cumulticast.libcuda.table import Entry
    from cumulticast.sim.driver import Driver, Finding

Otherwise = Callable[[int, int, int, int], int]
Failure = int | tuple[int, Any] | tuple[int, int, int]  # a status, one with outputs, or what to wait for
Failed = Callable[[BaseException, int, int], Failure]
WATCHED, FAULT, GIVE_UP = 1, 2, 3  # door.h
GAVE_UP = "a signal handler raised while the call waited; the caller gets its exception, not this status"
CUT_OFF = "a signal handler raised inside the call; the caller gets its exception, not this status"


@dataclass(slots=True, eq=False)
class Call:
    """One call that is not over yet; times are in nanoseconds."""

    form: Form
    inputs: tuple[Any, ...]
    args: str
    objects: dict[str, int]
    began: int
    started: int
    findings: list[Finding] = field(default_factory=list["Finding"])
    waits_since: int = 0


class Tracer:
    """Stands between the door and what answers its calls."""

    def __init__(self, driver: Driver, file: TraceFile, entries: Sequence[Entry]) -> None:
        self._driver = driver
        self._file = file
        self._forms = [Form(entry) for entry in entries]
        self._epoch = int(driver.world.began * 1e9)
        self._rank = dumps(driver.options.rank)
        self._running: dict[int, Call] = {}
        self._open: dict[int, list[Call]] = {}
        self._watched: set[int] = set()
        driver.listeners.append(self._noticed)

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    # ---- what stands in

    def wrap(self, index: int, function: Function, otherwise: Otherwise) -> Function:
        """Make the function that records what `function` answers.

        What may befall a watched call happens in here, where its arguments are known.
        """
        form, running, watched = self._forms[index], self._running, self._watched

        def traced(thread: int, *inputs: Any) -> Any:
            call, this = self._call(thread, form, inputs), threading.get_ident()
            outer = running.get(this)
            running[this] = call
            try:
                if thread in watched:
                    watched.discard(thread)
                    otherwise(WATCHED, index, thread, 0)
                result = function(thread, *inputs)
            except BaseException:
                self._open.setdefault(thread, []).append(call)
                raise
            finally:
                if outer is None:
                    del running[this]
                else:
                    running[this] = outer
            self._write(call, 0, result)
            return result

        return traced

    def otherwise(self, otherwise: Otherwise, given: Callable[[int], int]) -> Otherwise:
        """Make what is asked for all that is no ordinary call; ``given(k)`` is the argument word k of a bad call."""

        def traced(ask: int, index: int, thread: int, fault: int) -> int:
            if ask == WATCHED:
                self._watched.add(thread)
                return 0
            if ask == FAULT:
                form = self._forms[index]
                args = form.bad_args([given(k) for k in range(len(form.params))], fault)
                self._open.setdefault(thread, []).append(self._new(form, (), args))
            status = otherwise(ask, index, thread, fault)
            if ask == GIVE_UP:
                self._write(self._opened(thread, index), status, None, (None, GAVE_UP))
            return status

        return traced

    def failed(self, failed: Failed) -> Failed:
        """Make what turns an exception into a status."""

        def traced(error: BaseException, index: int, thread: int) -> Failure:
            answer = failed(error, index, thread)
            call = self._opened(thread, index)
            if isinstance(error, Wait):
                call.waits_since = call.waits_since or time.monotonic_ns()
                self._open.setdefault(thread, []).append(call)
            else:
                status = answer if isinstance(answer, int) else answer[0]  # the outputs of a refusal are not recorded
                self._write(call, status, None, _reason(error))
            return answer

        return traced

    # ---- calls

    def _call(self, thread: int, form: Form, inputs: tuple[Any, ...]) -> Call:
        """Begin a call, or go on with the one that this thread waits in."""
        waiting = self._open.get(thread)
        if waiting and waiting[-1].form is form and waiting[-1].inputs == inputs:
            return waiting.pop()
        return self._new(form, inputs, form.args(inputs))

    def _new(self, form: Form, inputs: tuple[Any, ...], args: str) -> Call:
        objects = form.given_objects(self._driver, inputs) if form.names_objects else {}
        return Call(form, inputs, args, objects, time.time_ns(), time.monotonic_ns())

    def _opened(self, thread: int, index: int) -> Call:
        """Take the call that has raised; one that raised after its answer was written gets a line more."""
        waiting = self._open.get(thread)
        return waiting.pop() if waiting else self._new(self._forms[index], (), "")

    def _noticed(self, finding: Finding) -> None:
        """Take a finding to the call that runs in this thread."""
        call = self._running.get(threading.get_ident())
        if call is not None:
            call.findings.append(finding)

    # ---- lines

    def _write(self, call: Call, status: int, result: Any, refused: tuple[str | None, str] | None = None) -> None:
        if not self._file.is_open:
            return
        now = time.monotonic_ns()
        form, out = call.form, ""
        if not status:
            out = form.out(call.inputs, result)
            call.objects.update(form.made_objects(self._driver, result) if form.names_objects else {})
        first, *more = [_finding(f.rule, f.message) for f in call.findings] or ["null"]
        extra = f', "more_findings": [{", ".join(more)}]' if more else ""
        if refused:
            extra += f', "refused": {_finding(*refused)}'
        if call.waits_since:
            extra += f', "waited_us": {(now - call.waits_since) / 1000:.3f}'
        if call.objects:
            extra += f', "objects": {dumps(call.objects)}'
        since, thread = call.began - self._epoch, threading.get_native_id()
        self._file.write(
            f'{{"t": {since / 1e9:.9f}, "rank": {self._rank}, "pid": {os.getpid()}, "tid": {thread}, '
            f'"call": "{form.symbol}", "args": {{{call.args}}}, "out": {{{out}}}, "status": {status}, '
            f'"duration_us": {(now - call.started) / 1000:.3f}, "finding": {first}{extra}}}\n'
        )


def _finding(rule: str | None, message: str) -> str:
    return dumps({"rule": rule, "message": message})


def _reason(error: BaseException) -> tuple[str | None, str]:
    """Say why a call was not answered with 0."""
    if isinstance(error, Refused):
        return error.rule.code if error.rule else None, error.reason
    if isinstance(error, NotReady):
        return None, "not ready"
    return None, f"{CUT_OFF} ({type(error).__name__})"
