"""The annex: from what files say to what they rule out. Nothing is said that no file shows.

A device counts by the looks in which it was at work: what stands at 345 MHz and does nothing says nothing of
the run. Against a baseline a cause is ruled out where it is as it was, however it was: a device that is
capped in both runs explains no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from fallback_gate.instruments.exclusions.seen import Device, Seen
from fallback_gate.model.exclusions import Cause, Exclusion, Exclusions, Standing

BOOST: Final = 0.95  # of the most, from which a clock counts as boost
MOSTLY: Final = 0.90  # of the busy looks, that have to show it
CLOSE: Final = 0.03  # by which a clock may differ from the baseline's
SAME_LOAD: Final = 0.05  # by which a mean batch may
SAME_SHARE: Final = 0.05  # of the looks, by which throttling may grow
MOST_TOLD: Final = 4  # devices that a sentence names


def causes(now: Seen, before: Seen | None) -> Exclusions:
    """What the files rule out, against those of a good run where there are any."""
    given = (
        _clocks(now, before),
        _throttling(now, before),
        _errors(now),
        _batch(now, before),
        _queue(now, before),
    )
    return Exclusions(given, tuple(_facts(now, before)), tuple(now.files))


def _open(cause: Cause, why: str) -> Exclusion:
    return Exclusion(cause, Standing.OPEN, cause.value.replace("_", " "), why)


def _listed(parts: Iterable[str]) -> str:
    told = list(parts)
    more = f", and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return ", ".join(told[:MOST_TOLD]) + more


def _looks(count: int) -> str:
    return f"{count:,} look{'s' * (count != 1)}"


def _working(seen: Seen) -> dict[str, Device]:
    return {name: device for name, device in seen.devices.items() if device.busy}


def _nothing_at_work(seen: Seen) -> str:
    if not seen.devices:
        return "no file of a device was given"
    idle = f"{len(seen.devices)} devices" if len(seen.devices) > 1 else next(iter(seen.devices))
    moved = Counter[str]()
    for device in seen.devices.values():
        moved.update({reason: int(time) for reason, time in device.spent_last.items()})
    counters = ""
    if moved:
        worst = [reason for reason, time in moved.items() if time]
        said = f"count {_listed(worst)} since the driver was loaded" if worst else "are 0 until that moment"
        counters = f"; its counters of reasons {said}"
    return f"{idle} did no work, or the file does not say so, whenever it was looked at{counters}"


def _throttling(now: Seen, before: Seen | None) -> Exclusion:
    cause = Cause.THROTTLING
    grown = {
        f"{name}: {reason}"
        for name, device in now.devices.items()
        for reason, time in device.spent_last.items()
        if time != device.spent_first[reason]
    }
    working = {name: device for name, device in _working(now).items() if device.told}
    looks = sum(device.told for device in working.values())
    slowed = sum(device.slowed_looks for device in working.values())
    reasons = [f"{name}: {reason}" for name, device in working.items() for reason in device.slowed]
    if slowed or grown:
        why = f"in {slowed} of {_looks(looks)} at work"
        if not slowed:
            why = "by its counters, which grew between two looks"
        why += f" ({_listed(reasons or sorted(grown))})"
        share = slowed / looks if looks else 1.0
        earlier = _slowed_share(before) if before else None
        if earlier is not None and not grown and share <= earlier + SAME_SHARE:
            return Exclusion(
                cause, Standing.RULED_OUT, "throttling as in the baseline",
                f"slowed {why}, {share:.0%} of them and {earlier:.0%} in the baseline",
            )  # fmt: skip
        return Exclusion(cause, Standing.FOUND, "throttling", f"the device was slowed {why}")
    boosted, against = _boost(now), _against(now, before) if before else None
    short, why = "no throttling", ""
    if _working(now) and all(device.told == device.busy for device in _working(now).values()):
        why = f"no reason was active in {_looks(looks)} at work"
    elif boosted is not None and all(boosted.values()):
        why = "nothing slowed clocks that stayed at boost under work"
    elif _still(now):
        short, why = "no throttling between two looks", "its counters of reasons did not move"
    elif against is not None and not any(slower for _, slower in against):
        short, why = (
            "no throttling beyond the baseline's",
            "it would have lowered clocks that are as they were",
        )
    if why:
        return Exclusion(cause, Standing.RULED_OUT, short, why)
    if working:
        return _open(
            cause, f"no reason was active in {_looks(looks)} at work; others tell none, and clocks were lower"
        )
    if _working(now):
        return _open(cause, "the files tell no reasons of throttling, and not that clocks were at boost")
    return _open(cause, _nothing_at_work(now))


def _slowed_share(seen: Seen) -> float | None:
    looks = sum(device.told for device in seen.devices.values())
    return sum(device.slowed_looks for device in seen.devices.values()) / looks if looks else None


def _still(seen: Seen) -> bool:
    """Whether each device was looked at twice, and no counter of a reason moved in between."""
    return bool(seen.devices) and all(
        device.counted > 1 and device.spent_last == device.spent_first for device in seen.devices.values()
    )


def _median(clocks: Counter[float]) -> float:
    """The median of clocks that are counted."""
    half, passed = sum(clocks.values()) / 2, 0
    for clock in sorted(clocks):
        passed += clocks[clock]
        if passed >= half:
            return clock
    raise ValueError("no clock")


def _boost(seen: Seen) -> dict[str, bool] | None:
    """For each device at work whether its clock was at boost; None where that can't be told of one."""
    found = {}
    for name, device in _working(seen).items():
        top = seen.top(name)
        if not device.clocks or top is None:
            return None
        high = sum(count for clock, count in device.clocks.items() if clock >= BOOST * top)
        found[name] = high >= MOSTLY * sum(device.clocks.values())
    return found or None


def _clocks(now: Seen, before: Seen | None) -> Exclusion:
    cause, working = Cause.CLOCKS, _working(now)
    if not working:
        return _open(cause, _nothing_at_work(now))
    silent = [name for name, device in working.items() if not device.clocks]
    if silent:
        return _open(cause, f"the files tell no clock under work of {_listed(silent)}")
    low = [low for low in (_memory(name, device, now) for name, device in working.items()) if low]
    boosted = _boost(now)
    if boosted is not None and all(boosted.values()) and not low:
        told = (_clock(name, device, now) for name, device in working.items())
        return Exclusion(cause, Standing.RULED_OUT, "clocks at boost", _listed(told))
    against = _against(now, before) if before else None
    if against is not None and not any(slower for _, slower in against):
        told = (text for text, _ in against)
        return Exclusion(cause, Standing.RULED_OUT, "clocks as in the baseline", _listed(told))
    if boosted is not None and (low or not all(boosted.values())):
        slow = (_clock(name, working[name], now) for name, high in boosted.items() if not high)
        return Exclusion(cause, Standing.FOUND, "clocks below boost", _listed([*slow, *low]))
    if against is not None:
        slow = (text for text, slower in against if slower)
        return Exclusion(cause, Standing.FOUND, "clocks below the baseline", _listed(slow))
    return _open(
        cause,
        "the files do not tell the most that the clocks reach (nvidia-smi -q does), and there is no baseline",
    )


def _clock(name: str, device: Device, seen: Seen) -> str:
    looks = _looks(sum(device.clocks.values()))
    of = f" of {seen.top(name):,.0f}" if seen.top(name) else ""
    return f"{name} at {_median(device.clocks):,.0f}{of} MHz in {looks} at work"


def _memory(name: str, device: Device, seen: Seen) -> str | None:
    """That the memory's clock was below its most, where both are told."""
    top = seen.top(name, "memory_top")
    if not device.memory_clocks or top is None or _median(device.memory_clocks) >= BOOST * top:
        return None
    return f"memory of {name} at {_median(device.memory_clocks):,.0f} of {top:,.0f} MHz"


def _against(now: Seen, before: Seen) -> list[tuple[str, bool]] | None:
    """For each device at work its clock and that of the baseline, and whether it is slower; None where the
    baseline does not tell one."""
    earlier = _working(before)
    found = []
    for name, device in _working(now).items():
        old = earlier.get(name)
        if old is None or not old.clocks:
            return None
        clock, was = _median(device.clocks), _median(old.clocks)
        found.append((f"{name} at {clock:,.0f} MHz, {was:,.0f} in the baseline", clock < (1 - CLOSE) * was))
    return found


def _errors(now: Seen) -> Exclusion:
    cause = Cause.DEVICE_ERRORS
    wrong = [f"{name}: {what}" for name, device in now.devices.items() for what in sorted(device.repairs)]
    wrong += [
        f"{name}: {device.uncorrected:,.0f} errors of memory that nothing corrected"
        for name, device in now.devices.items()
        if device.uncorrected
    ]
    wrong += now.errors
    if wrong:
        return Exclusion(cause, Standing.FOUND, "errors of the device", _listed(wrong))
    told = []
    if now.devices and all(device.uncorrected is not None for device in now.devices.values()):
        told.append("no error of memory is uncorrected")
    if now.devices and all(device.repairs_told for device in now.devices.values()):
        told.append("no repair of a device is due")
    if now.kernel_log:
        told.append("the kernel log has no Xid")
    if told:
        return Exclusion(cause, Standing.RULED_OUT, "no device errors", ", ".join(told))
    return _open(cause, "no file tells of errors (nvidia-smi -q, npu-smi info -t ecc, a kernel log do)")


def _batch(now: Seen, before: Seen | None) -> Exclusion:
    cause, batch = Cause.BATCH, now.loads.batch
    if batch is None:
        return _open(cause, "no log of a serving engine with a running request was given")
    mean = f"{batch:,.1f} requests running in the mean of {now.loads.lines:,} lines"
    earlier = before.loads.batch if before else None
    if earlier is None:
        return _open(cause, f"{mean}, and no baseline tells how many it was")
    told = f"{mean}, {earlier:,.1f} in the baseline"
    if abs(batch / earlier - 1) <= SAME_LOAD:
        return Exclusion(cause, Standing.RULED_OUT, "mean batch unchanged", told)
    return Exclusion(cause, Standing.FOUND, "another mean batch", told)


def _queue(now: Seen, before: Seen | None) -> Exclusion:
    cause, queue = Cause.QUEUE, now.loads.queue
    if queue is None:
        return _open(cause, "no log of a serving engine tells its queue")
    mean = f"{queue:,.1f} requests waiting in the mean"
    if queue < 0.05:
        return Exclusion(cause, Standing.RULED_OUT, "no queue", mean)
    earlier = before.loads.queue if before else None
    if earlier is None:
        return _open(cause, f"{mean}, and no baseline tells how many it was")
    told = f"{mean}, {earlier:,.1f} in the baseline"
    if queue <= earlier * 1.1 + 0.5:
        return Exclusion(cause, Standing.RULED_OUT, "queue no longer than before", told)
    return Exclusion(cause, Standing.FOUND, "a longer queue", told)


def _facts(now: Seen, before: Seen | None) -> Iterator[str]:
    tpot = now.loads.tpot
    if tpot is not None:
        earlier = before.loads.tpot if before else None
        was = f", {earlier:,.1f} ms in the baseline" if earlier is not None else ""
        yield f"time per token of one sequence: {tpot:,.1f} ms (running requests over tokens a second){was}"
    yield from now.problems
    if before:
        yield from (f"baseline: {problem}" for problem in before.problems)
