"""Senders of submissions: a person, an ordinary program of theirs, or an agent."""

from dataclasses import dataclass
from typing import Final

from accounts.models import Agent
from competitions.catalog.models import Agents, Phase
from competitions.submissions.refusals import AGENT_NOT_DECLARED, AGENTS_NOT_TAKEN


@dataclass(frozen=True)
class Sender:
    """The agent of the token, if it is one's; and if it came by a tool, as agents alone do."""

    agent: Agent | None = None
    used_tool: bool = False

    @property
    def is_agent(self) -> bool:
        return self.agent is not None or self.used_tool


A_PERSON: Final = Sender()


def require_welcome(sender: Sender, phase: Phase) -> None:
    """Raise the refusal if the phase takes nothing from an agent, or from this undeclared one."""
    if not sender.is_agent or phase.agents == Agents.ANY:
        return
    if phase.agents == Agents.NONE:
        raise AGENTS_NOT_TAKEN(phase=phase)
    if sender.agent is None:
        raise AGENT_NOT_DECLARED(phase=phase)
