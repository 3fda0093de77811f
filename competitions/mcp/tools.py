"""The tools: names, arguments, and the calls of the API that they are."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.urls import NoReverseMatch, resolve, reverse
from rest_framework.views import APIView

from accounts.models import ApiToken
from competitions.api.permissions import accepted_scopes
from core.refusals import RefusalKind

INLINE_BYTES: Final = 1024 * 1024  # of a file that comes in a call; larger ones are uploaded first
MAX_BODY_BYTES: Final = 2 * INLINE_BYTES  # base64 and the frame around it

Schema = dict[str, Any]

BAD_ARGUMENT: Final = RefusalKind(422, "bad_argument", "{sentence}")


@dataclass(frozen=True)
class Tool:
    """A call of the API by name. Arguments that the address does not name are its query, or its body."""

    name: str
    title: str
    description: str
    route: str
    method: Literal["GET", "POST", "PUT"] = "GET"
    arguments: dict[str, Schema] = field(default_factory=dict)
    in_address: dict[str, str] = field(default_factory=dict)  # arguments, by their names in the address
    also_required: tuple[str, ...] = ()
    is_public: bool = False  # also for who sends no token
    destroys: bool = False
    authors: str = ""  # whose texts the answer may have

    @property
    def schema(self) -> Schema:
        """The arguments as JSON Schema."""
        return {
            "type": "object",
            "properties": self.arguments,
            "required": self.required,
            "additionalProperties": False,
        }

    @property
    def required(self) -> list[str]:
        """The arguments that must be given: those in the address, and some of the body."""
        return [*self.in_address.values(), *self.also_required]

    @property
    def is_reading(self) -> bool:
        """Nothing is changed."""
        return self.method == "GET"

    def path(self, arguments: dict[str, object]) -> str:
        """The address of a call. Raises the refusal `bad_argument`."""
        values = {name: arguments[argument] for name, argument in self.in_address.items()}
        try:
            return reverse(self.route, kwargs=values)
        except NoReverseMatch as error:
            named = ", ".join(f"`{argument}`" for argument in self.in_address.values())
            raise BAD_ARGUMENT(
                sentence=f"{named}: give what another tool answered, or what the address has."
            ) from error

    def payload(self, arguments: dict[str, object]) -> dict[str, object]:
        """The arguments that are not in the address."""
        return {name: value for name, value in arguments.items() if name not in self.in_address.values()}

    def is_shown_to(self, token: ApiToken | None) -> bool:
        """True if the API lets this token, or nobody's call, in."""
        if token is None:
            return self.is_public
        return bool(set(accepted_scopes(self.method, self._view)) & set(token.scopes))

    @property
    def _view(self) -> type[APIView]:
        examples = dict.fromkeys(self.in_address, 1)
        view: type[APIView] = resolve(reverse(self.route, kwargs=examples)).func.cls  # type: ignore[attr-defined]  # of DRF
        return view


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _number(description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "description": description}


COMPETITION: Final = _text("Slug of the competition, as `list_competitions` answers it.")
PHASE: Final = _text("Slug of the phase, as `get_competition` answers it.")
SUBMISSION: Final = _number("Number of the submission.")
BOARD: Final = _text("Key of a board of the phase; its main one where it is left out.")
CURSOR: Final = _text("Of the page to go on at: from `next_cursor`, or from `cursor=` in the address `next`.")
SLUG: Final = {"slug": "competition"}
OF_PHASE: Final = {"slug": "competition", "phase_slug": "phase"}
OF_SUBMISSION: Final = {"pk": "submission"}
EVERYBODY: Final = "organizers and participants"

SUBMIT: Final = Tool(
    "submit",
    "Submit a file",
    "Submit to a phase for your team, and use one of its submissions. Give `upload`, the key of a finished upload "
    "(POST /api/v1/uploads/, or the program `podium`), or a small file by `file_name` with `text` or `base64`. "
    "Look at `get_limits` first.",
    "api:submissions",
    "POST",
    {
        "phase": _number("Number (`id`) of the phase, as `get_competition` answers it."),
        "upload": _text("Key of a finished upload.", format="uuid"),
        "file_name": _text("Name of the file that comes with the call.", maxLength=255),
        "text": _text("The file as text.", maxLength=INLINE_BYTES),
        "base64": _text("The file in base64.", maxLength=INLINE_BYTES * 4 // 3 + 4),
        "kind": _text("Where the phase takes several kinds.", enum=["prediction", "code", "dataset"]),
        "description": _text("A note for your team.", maxLength=500),
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Words of your team's own, at most ten."},
        "commit": _text("The hash of your code's commit.", maxLength=64),
        "link": _text(
            "Your code or paper, https:// alone; public where the submission stands on a board.", maxLength=300
        ),
        "fact_sheet": {"type": "object", "description": "Answers by key; `get_fact_sheet` says what is asked."},
        "smoke": {"type": "boolean", "description": "Run on the public mini split alone: free, and on no board."},
        "idempotency_key": _text("The same key gives the same submission again.", maxLength=100),
    },
    also_required=("phase",),
    authors="participants",
)

TOOLS: Final = (
    Tool("whoami", "Your account", "The account behind your token, and what the token may do.", "api:me"),
    Tool(
        "list_competitions",
        "Competitions",
        "Competitions that you can see, newest first.",
        "api:competitions",
        arguments={"tag": _text("Only those with this tag."), "cursor": CURSOR},
        is_public=True,
        authors="organizers",
    ),
    Tool(
        "get_competition",
        "A competition",
        "A competition with its phases, their settings and limits, and the version of its rules.",
        "api:competition",
        arguments={"competition": COMPETITION},
        in_address=SLUG,
        is_public=True,
        authors="organizers",
    ),
    Tool(
        "read_page",
        "A page of a competition",
        "A page as Markdown: overview, data, rules, how-it-is-run, or a page of the organizers by its slug. Read the rules first.",
        "web:page-markdown",
        arguments={"competition": COMPETITION, "page": _text("Name of the page, as `rules`.")},
        in_address={"slug": "competition", "name": "page"},
        is_public=True,
    ),
    Tool(
        "list_files",
        "Files of a competition",
        "Public data and starting kits, with sizes, digests and addresses. A download needs your token and accepted rules.",
        "api:files",
        arguments={"competition": COMPETITION},
        in_address=SLUG,
        is_public=True,
        authors="organizers",
    ),
    Tool(
        "get_fact_sheet",
        "Questions of a fact sheet",
        "The questions that a submission to the phase answers.",
        "api:fact-sheet",
        arguments={"competition": COMPETITION, "phase": PHASE},
        in_address=OF_PHASE,
        is_public=True,
        authors="organizers",
    ),
    Tool(
        "get_leaderboard",
        "A leaderboard",
        "A page of a phase's board, best first, as everybody may see it.",
        "api:leaderboard",
        arguments={"competition": COMPETITION, "phase": PHASE, "board": BOARD, "cursor": CURSOR},
        in_address=OF_PHASE,
        is_public=True,
        authors=EVERYBODY,
    ),
    Tool(
        "list_topics",
        "Topics of the discussion",
        "Topics of a competition's discussion, newest first.",
        "api:topics",
        arguments={"competition": COMPETITION, "cursor": CURSOR},
        in_address=SLUG,
        is_public=True,
        authors=EVERYBODY,
    ),
    Tool(
        "read_topic",
        "A topic of the discussion",
        "The posts of a topic, in the order of time.",
        "api:topic-posts",
        arguments={"competition": COMPETITION, "topic": _number("Number of the topic."), "cursor": CURSOR},
        in_address={"slug": "competition", "pk": "topic"},
        is_public=True,
        authors=EVERYBODY,
    ),
    Tool(
        "get_team",
        "Your team",
        "Your team in a competition. You are registered by a person, who accepts the rules on the page Rules.",
        "api:team",
        arguments={"competition": COMPETITION},
        in_address=SLUG,
        authors="participants",
    ),
    Tool(
        "get_limits",
        "Submissions left",
        "Your team's submissions by period: allowed, used, left, and when more come.",
        "api:limits",
        arguments={"competition": COMPETITION, "phase": PHASE},
        in_address=OF_PHASE,
    ),
    Tool(
        "list_submissions",
        "Submissions",
        "Your team's submissions, newest first.",
        "api:submissions",
        arguments={
            "competition": COMPETITION,
            "phase": _number("Number (`id`) of the phase."),
            "status": _text("As `queued`, `finished` or `failed`."),
            "cursor": CURSOR,
        },
        authors=EVERYBODY,
    ),
    Tool(
        "get_submission",
        "A submission",
        "A submission of your team with its runs, verdict and the scores that may be seen. Ask every 10 seconds at most.",
        "api:submission",
        arguments={"submission": SUBMISSION},
        in_address=OF_SUBMISSION,
        authors=EVERYBODY,
    ),
    Tool(
        "get_logs",
        "Logs of a submission",
        "The logs of a submission's runs that its team may read.",
        "api:submission-logs",
        arguments={"submission": SUBMISSION},
        in_address=OF_SUBMISSION,
        authors="programs of organizers and participants",
    ),
    Tool(
        "get_receipt",
        "Receipt of a submission",
        "All that it takes to run a submission again: digests, image, limits, hardware, times.",
        "api:submission-receipt",
        arguments={"submission": SUBMISSION},
        in_address=OF_SUBMISSION,
        authors=EVERYBODY,
    ),
    Tool(
        "list_notifications",
        "Notifications",
        "Your notifications, newest first.",
        "api:notifications",
        arguments={"unread": {"type": "boolean", "description": "Only those that were not read."}, "cursor": CURSOR},
        authors=EVERYBODY,
    ),
    SUBMIT,
    Tool(
        "cancel_submission",
        "Cancel a submission",
        "Cancel a submission of your team: at once while it waits, within seconds while it runs.",
        "api:submission-cancel",
        "POST",
        {"submission": SUBMISSION},
        OF_SUBMISSION,
        destroys=True,
        authors=EVERYBODY,
    ),
    Tool(
        "choose_submission",
        "Choose a submission",
        "Choose a submission for a board on which teams choose what counts.",
        "api:submission-board",
        "PUT",
        {"submission": SUBMISSION, "board": _text("Key of the board.")},
        {"pk": "submission", "board_key": "board"},
        authors=EVERYBODY,
    ),
)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
