"""Refusals of posts and of changes to them."""

from typing import Final

from competitions.discussions.models import MAX_POST
from core.refusals import RefusalKind

NO_DISCUSSION: Final = RefusalKind(
    404, "no_discussion", "The competition “{competition}” has no discussion on this site."
)
ROBOTS_WRITE_NOTHING: Final = RefusalKind(
    403, "robots_write_nothing", "Service accounts read the discussion and write nothing in it. Sign in as a person."
)
BANNED: Final = RefusalKind(
    403, "banned", "The organizers have excluded you from writing in this discussion: {reason}", tells=("reason",)
)
POST_EMPTY: Final = RefusalKind(422, "post_empty", "The post is empty. Write something first.")
TITLE_WRONG: Final = RefusalKind(422, "title_wrong", "{detail}")
POST_TOO_LONG: Final = RefusalKind(
    422,
    "post_too_long",
    f"The post has {{characters:,}} characters; at most {MAX_POST:,} are allowed. Shorten it, or put the rest elsewhere and link to it.",
    tells=("characters",),
)
POST_TOO_MANY_LINES: Final = RefusalKind(
    422,
    "post_too_many_lines",
    "The post has {lines:,} lines; at most {limit:,} are allowed. Show the part that matters, or put the rest elsewhere and link to it.",
    tells=("lines", "limit"),
)
TOO_MANY_MENTIONS: Final = RefusalKind(
    422,
    "too_many_mentions",
    "The post mentions {count} people and teams; at most {limit} are allowed.",
    tells=("limit",),
)
TOO_MANY_POSTS: Final = RefusalKind(
    429,
    "too_many_posts",
    "You have written {limit} posts within {period}, which is the limit. Try again later.",
    tells=("limit",),
)
TOO_MANY_PREVIEWS: Final = RefusalKind(
    429,
    "too_many_previews",
    "You have asked for {limit} previews within a minute. Try again in a moment.",
    tells=("limit",),
)
TOO_MANY_EDITS: Final = RefusalKind(
    429,
    "too_many_edits",
    "You have made {limit} edits within a day, which is the limit. Try again tomorrow.",
    tells=("limit",),
)
TOO_MANY_REPORTS: Final = RefusalKind(
    429,
    "too_many_reports",
    "You have reported {limit} posts within a day, which is the limit. Write to the organizers instead.",
    tells=("limit",),
)
TOO_MANY_IMAGES: Final = RefusalKind(
    429,
    "too_many_images",
    "You have uploaded {limit} images within a day, which is the limit. Try again tomorrow.",
    tells=("limit",),
)
POSTS_WAIT: Final = RefusalKind(
    429,
    "posts_wait",
    "{count} posts of yours wait for an organizer. Write more once they have been looked at.",
    tells=("count",),
)
TOPIC_LOCKED: Final = RefusalKind(
    409, "topic_locked", "An organizer has locked “{topic}”: nobody replies or edits there any more. Open a new topic."
)
NUMBERS_UNDER_SEAL: Final = RefusalKind(
    409,
    "numbers_under_seal",
    "The text has a number that looks like a score ({number}), and this competition keeps scores sealed. If it could be a sealed "
    "score of yours, take it out; everybody would read it. If it is not, post it with `confirm_numbers`.",
    tells=("number",),
)
NOT_YOUR_POST: Final = RefusalKind(
    403, "not_your_post", "Its author alone edits a post, and its author or an organizer deletes it."
)
EDITED_MEANWHILE: Final = RefusalKind(
    409,
    "edited_meanwhile",
    "The post was edited meanwhile, so nothing was saved. Read its text as it is now, then try again.",
)
POST_HIDDEN: Final = RefusalKind(409, "post_hidden", "The post is not shown: it is {state}.")
TOO_MANY_PINNED: Final = RefusalKind(
    409, "too_many_pinned", "{limit} topics are pinned already, which is the limit. Unpin one first.", tells=("limit",)
)
NO_SOLUTION: Final = RefusalKind(422, "no_solution", "Choose a shown reply of this topic as its solution.")
REASON_MISSING: Final = RefusalKind(
    422, "reason_missing", "Say why, in at most 500 characters: the person will read it."
)
ORGANIZERS_STAY: Final = RefusalKind(
    409, "organizers_stay", "{user} organizes this competition, and cannot be excluded from its discussion."
)
OWN_POST: Final = RefusalKind(409, "own_post", "This is your own post: edit or delete it.")
NOT_A_WRITER: Final = RefusalKind(
    422, "not_a_writer", "Nobody of this user name takes part in “{competition}” or has written in its discussion."
)
