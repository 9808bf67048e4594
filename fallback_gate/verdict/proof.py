"""Room 6: what the evidence proves, process by process.

A process passes when each required kind of each of its compilers is proven, or is unobservable and the
policy accepts that. A compiler that works inside another owes no proof of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fallback_gate.compilers.rule import Evidence, Reader
from fallback_gate.compilers.strict_modes import by_strict_modes
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.model import CompilerProof, Kind, Outcome, ProcessKey, ProcessVerdict, Proof, State
from fallback_gate.policy.entry import Policy

_RANK = {State.PROVEN: 2, State.UNOBSERVABLE: 1, State.UNPROVEN: 0}


def better(one: Proof, other: Proof) -> Proof:
    """The better of two proofs of one kind: evidence about one process is pooled, unless one is final."""
    if one.final or other.final:
        return one if one.final else other
    return other if _RANK[other.state] > _RANK[one.state] else one


def weigh(reader: Reader, evidence: Evidence, policy: Policy) -> CompilerProof:
    """The proof of one compiler in one process."""
    proof = dict(reader.prove(evidence))
    if evidence.markers:
        for kind, by_marker in by_markers(evidence, frozenset()).items():
            proof[kind] = better(proof[kind], by_marker) if kind in proof else by_marker
    for kind, by_mode in by_strict_modes(reader, evidence).items():
        proof[kind] = better(proof[kind], by_mode) if kind in proof else by_mode
    if evidence.trouble:
        why = evidence.trouble[0]
        proof = {
            kind: replace(said, state=State.UNPROVEN, why=why) if said.state is State.PROVEN else said
            for kind, said in proof.items()
        }
    required = reader.required if policy.required is None else policy.required
    deciding = required & proof.keys()
    shows = any(said.state is State.PROVEN for said in proof.values())
    # Only kinds of other compilers, or none and nothing is shown: it owes what it owes by default.
    if not deciding and (required or not shows):
        deciding = reader.required & proof.keys()
    for kind in required - proof.keys():
        proof[kind] = Proof(State.UNOBSERVABLE, f"no log of {reader.name} can show this kind")
    # A reader may go through a set, whose order changes from process to process; a report must not.
    ordered = {kind: proof[kind] for kind in Kind if kind in proof}
    return CompilerProof(reader.name, reader.version(evidence), ordered, frozenset(deciding))


def lacking(compiler: CompilerProof, policy: Policy) -> list[tuple[Kind, Proof]]:
    """The required kinds that are neither proven nor excused."""
    found = []
    for kind in Kind:
        if kind not in compiler.required:
            continue
        proof = compiler.proof[kind]
        if proof.state is not State.PROVEN and kind not in _excused(compiler, policy):
            found.append((kind, proof))
    return found


def _excused(compiler: CompilerProof, policy: Policy) -> frozenset[Kind]:
    """The required kinds that this log does not show and, by the policy, need not."""
    accepted = compiler.required.intersection(policy.accept_unobservable)
    return frozenset(kind for kind in accepted if compiler.proof[kind].state is State.UNOBSERVABLE)


def process_verdict(
    process: ProcessKey,
    said: Sequence[tuple[str, Mapping[str, Evidence]]],
    readers: Mapping[str, Reader],
    policy: Policy,
    blocked: bool,
) -> ProcessVerdict:
    """The verdict of one process: blocked by an event of its own, else by its proof.

    `said` is the evidence of each log that tells of it, its own log first: of each kind the best proof
    counts. The `line` of a proof is a position in the process's own log.
    """
    best: dict[str, CompilerProof] = {}
    for log, evidence in said:
        for name in evidence:
            if readers[name].inside & evidence.keys():
                continue
            weighed = weigh(readers[name], evidence[name], policy)
            if log != process.log:
                weighed = _from_another(weighed, log)
            best[name] = _pooled(best[name], weighed) if name in best else weighed
    compilers = tuple(one._replace(excused=_excused(one, policy)) for one in best.values())
    why = None
    if blocked:
        outcome = Outcome.BLOCKED
    elif not compilers:
        outcome, why = Outcome.UNPROVEN, _silent(process.rank)
    elif any(lacking(compiler, policy) for compiler in compilers):
        outcome = Outcome.UNPROVEN
    else:
        outcome = Outcome.PASS
    return ProcessVerdict(process.log, process.rank, process.pid, outcome, compilers, why, process.host)


def _silent(rank: int | None) -> str:
    """Why a process in which no compiler was seen is unproven."""
    if rank is None:
        return "this process printed nothing that shows a compiler at work"
    return (
        f"no log shows a compiler at work in rank {rank}: if this rank has a log of its own, give the logs "
        "of all ranks together"
    )


def _from_another(compiler: CompilerProof, log: str) -> CompilerProof:
    """A proof from another log of the process: it says which, in place of a line."""
    proof = {
        kind: replace(said, why=f"{said.why} ({log})", line=None) for kind, said in compiler.proof.items()
    }
    return compiler._replace(proof=proof)


def _pooled(one: CompilerProof, other: CompilerProof) -> CompilerProof:
    """Of each kind the better proof; that one log can't show a kind excuses nothing that another owes."""
    proof = dict(other.proof)
    for kind, said in one.proof.items():
        if kind not in proof or kind in one.required - other.required:
            proof[kind] = said
        elif kind not in other.required - one.required:
            proof[kind] = better(said, proof[kind])
    return one._replace(
        proof=proof, required=one.required | other.required, version=one.version or other.version
    )


def located(
    verdicts: Iterable[ProcessVerdict], numbers: Mapping[str, Mapping[int, int]]
) -> tuple[ProcessVerdict, ...]:
    """The verdicts with the proofs' positions turned into line numbers, given by log and position."""
    found = []
    for verdict in verdicts:
        lines = numbers.get(verdict.log, {})
        compilers = tuple(
            compiler._replace(
                proof={
                    kind: proof if proof.line is None else replace(proof, line=lines.get(proof.line))
                    for kind, proof in compiler.proof.items()
                },
            )
            for compiler in verdict.compilers
        )
        found.append(replace(verdict, compilers=compilers))
    return tuple(found)
