"""A fake of Slurm's accounting: it accepts sacctmgr's lines as 22.05 does, in configurable
states."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from spawner.errors import Unreachable
from spawner.slurm.parse_accounting import (
    AssociationKey,
    AssociationValues,
    ClusterFacts,
    InUse,
    JobTime,
    parse_tres,
)

Mood = Literal["obeys", "refuses", "shrugs", "slow", "away"]
"""`refuses` gives a reason, `shrugs` does and prints nothing, `slow` waits for `go_on`."""

FACTS = ClusterFacts(
    "demo",
    frozenset({"associations", "limits", "qos"}),
    frozenset({"cpu", "mem", "gres/gpu", "gres/gpu:v100"}),
    frozenset({"normal", "high"}),
)
BUSY = "Error with request: Job(s) active, cancel job(s) before remove"


def _users() -> dict[AssociationKey, dict[str, Any]]:
    accounts: dict[AssociationKey, dict[str, Any]] = {
        (name, "", ""): {} for name in ("root", *ACCOUNTS)
    }
    users: dict[AssociationKey, dict[str, Any]] = {("research", name, ""): {} for name in USERS}
    return {**accounts, ("root", "root", ""): {}, **users, ("teaching", "alice", ""): {}}


ACCOUNTS = ("research", "teaching")
USERS = ("alice", "bob", "carol")


@dataclass
class FakeAccounting:
    """`rows` is slurmdbd's content; `received` every received line; `busy` users have jobs."""

    rows: dict[AssociationKey, dict[str, Any]] = field(default_factory=_users)
    received: list[str] = field(default_factory=list)
    looks: int = 0
    mood: Mood = "obeys"
    busy: set[str] = field(default_factory=set)
    times: list[JobTime] = field(default_factory=list)
    used: dict[tuple[str, str], InUse] = field(default_factory=dict)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def facts(self) -> ClusterFacts:
        self._there()
        return FACTS

    async def associations(self, cluster: str) -> dict[AssociationKey, AssociationValues]:
        self._there()
        self.looks += 1
        return {place: dict(figures) for place, figures in self.rows.items()}

    async def default_accounts(self) -> dict[str, str]:
        self._there()
        found: dict[str, str] = {}
        for account, user, _ in self.rows:
            found.setdefault(user, account)
        return found

    async def in_use(self) -> Mapping[tuple[str, str], InUse]:
        self._there()
        return dict(self.used)

    async def job_times(self, start: datetime, end: datetime) -> list[JobTime]:
        self._there()
        return [j for j in self.times if j.start < end and (j.end is None or j.end > start)]

    async def update(self, lines: Sequence[str]) -> str:
        self._there()
        if self.mood == "slow":
            await self.go_on.wait()
        self.received += lines
        if self.mood == "refuses":
            return "Access/permission denied"
        if self.mood == "shrugs":
            return ""
        return " ".join(filter(None, [self._obey(line) for line in lines]))

    def _there(self) -> None:
        if self.mood == "away":
            raise Unreachable("Slurm's accounting (slurmdbd) doesn't answer.")

    def _obey(self, line: str) -> str:
        values = dict(re.findall(r"(\w+)=(\S*)", line))
        words = line.split()
        account = values.get("account", words[2])
        if line.startswith("add account"):
            self.rows[words[2], "", ""] = {}
            return ""
        users = words[2].split(",") if words[1] == "user" else [""]
        if "set DefaultAccount" in line:
            return ""
        places = [(account, user, values.get("partition", "")) for user in users]
        if words[0] == "add":
            self.rows |= {place: {} for place in places if place not in self.rows}
            return ""
        if words[0] == "remove":
            return self._remove(places)
        for place in places:
            if place in self.rows:
                self._set(self.rows[place], line.split(" set ", 1)[1])
        return ""

    def _remove(self, places: list[AssociationKey]) -> str:
        if any(user in self.busy for _, user, _ in places):
            return BUSY
        for account, user, partition in places:
            self.rows = {
                place: figures
                for place, figures in self.rows.items()
                if place[:2] != (account, user) or (partition and place[2] != partition)
            }
        return ""

    @staticmethod
    def _set(figures: dict[str, Any], clause: str) -> None:
        for word in clause.split():
            name, _, text = word.partition("=")
            if name == "GrpTRES":
                for tres in text.split(","):
                    kind, _, number = tres.partition("=")
                    figures.pop(kind, None)
                    if not number.startswith("-1"):
                        figures |= parse_tres(tres)
            elif name in {"MaxSubmitJobs", "GrpSubmitJobs", "MaxWall"}:
                figures.pop(name, None)
                if text != "-1":
                    figures[name] = int(text)
            elif name == "QOS":
                figures["QOS"] = sorted(text.split(",")) if text else ["normal"]
            elif name == "DefaultQOS":
                figures.pop(name, None)
                if text != "-1":
                    figures[name] = text
