"""Mutations of Keepset's own files behind their checksums: commits and chunks, sealed again."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.faults.bad_input import byte_mutations, json_mutations

from keepset.codecs import CODECS
from keepset.core.checksum import crc32c


def sealed(body: bytes) -> bytes:
    """A JSON object with a checksum that fits it as its last entry."""
    return body[:-1] + f',"checksum":"{crc32c(body):08x}"}}'.encode()


def mutate_commit(data: bytes, choose: random.Random) -> bytes:
    """Change values of a commit, and seal it again."""
    facts = json.loads(data)
    facts.pop("checksum", None)
    for _ in range(choose.choice((1, 1, 2))):
        facts = json_mutations.mutate_value(facts, choose)
    text = json_mutations.to_text(facts, choose, separators=(",", ":"))
    return sealed(text.encode("utf-8", "surrogatepass"))


def mutate_chunk(folder: Path, choose: random.Random) -> None:
    """Change bytes of a chunk, within its compression if it has one, and make the commits fit."""
    segments = sorted(folder.rglob("segments/*"))
    if not segments:
        return
    segment = choose.choice(segments)
    commits = sorted(segment.parents[1].glob("commits/*.json"))
    found = [json.loads(commit.read_bytes()) for commit in commits]
    data = segment.read_bytes()
    name = f"segments/{segment.name}"
    entries = [entry for facts in found for entry in _chunks_of(facts, name)]
    if not entries:
        return
    codec, chunk = choose.choice(entries)
    changed = _mutated_chunk(data[chunk[2] : chunk[2] + chunk[5][-1]], codec, chunk, choose)
    grown = len(changed) - chunk[5][-1]
    start, end = chunk[2], chunk[2] + chunk[5][-1]
    data = data[:start] + changed + data[end:]
    segment.write_bytes(data)
    for commit, facts in zip(commits, found, strict=True):
        for entry in _listed_segments(facts, name):
            entry["bytes"] += grown
        for _, each in _chunks_of(facts, name):
            if each[2] > start:
                each[2] += grown
            elif each[2] == start:
                each[5][-1] = max(each[5][-1] + grown, each[5][-2] if len(each[5]) > 1 else 0)
                each[4] = chunk[4]
            each[6] = _checksums(data, each)
        facts.pop("checksum", None)
        commit.write_bytes(sealed(json.dumps(facts, separators=(",", ":")).encode()))


def _mutated_chunk(data: bytes, codec: str, chunk: list[Any], choose: random.Random) -> bytes:
    kind = CODECS[codec]
    if kind.compress is None or kind.decompress is None or choose.random() < 0.3:
        return choose.choice((byte_mutations.mutated(data, choose), b"", data[:1], bytes(8)))
    inner = byte_mutations.mutated(bytes(kind.decompress(data, chunk[4])), choose)
    chunk[4] = len(inner)
    return bytes(kind.compress(inner))


def _manifests(facts: Any) -> list[Any]:
    found = facts.get("manifest") if isinstance(facts, dict) else None
    return [found] if isinstance(found, dict) else []


def _listed_segments(facts: Any, name: str) -> list[Any]:
    return [each for m in _manifests(facts) for each in m["segments"] if each["name"] == name]


def _chunks_of(facts: Any, name: str) -> list[tuple[str, list[Any]]]:
    """The chunks of a segment in a commit, each with its codec."""
    found = []
    for manifest in _manifests(facts):
        for chunk in manifest["chunks"]:
            segment = manifest["segments"][chunk[0]]
            if segment["name"] == name:
                found.append((segment["codec"], chunk))
    return found


def _checksums(data: bytes, chunk: list[Any]) -> list[int]:
    offset, ends = chunk[2], chunk[5]
    return [
        crc32c(data[offset + a : offset + b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)
    ]
