"""A discussion as it is after some weeks, for the pages that show one."""

from __future__ import annotations

from datetime import timedelta

from tests.browser.seeding.place import Place

QUESTION = """The data page says that the split is fixed, and the [rules](https://example.org/rules) say nothing of seeds.

* Do you average over seeds?
* Is $\\hat{y} = f_\\theta(x)$ with a fixed $\\theta$ enough?

```python
def seed_everything(seed: int) -> None:
    np.random.seed(seed)
```
"""
ANSWER = """> Do you average over seeds?

No. One run counts, @ada.

| What | Where |
| --- | --- |
| seed | `metadata.yaml` |
| budget | *Data* |
"""


def discussion(place: Place) -> None:
    """Topics in every state, a long one among them, and posts for the moderation desk."""
    from accounts.models import User
    from accounts.people.blocks import block
    from competitions.catalog.models import Announcement
    from competitions.catalog.texts.announcements import announcement_save
    from competitions.discussions.models import Topic, Writer
    from competitions.discussions.moderation import post_remove, post_report, topic_lock, topic_pin, writer_ban
    from competitions.discussions.services import Draft, reply_create, topic_create, topic_solve

    people = {user.username: user for user in User.objects.filter(username__in=("olga", "ada", "ben", "cleo", "dan"))}
    for name in ("ada", "ben"):
        Writer.objects.update_or_create(competition=place.competition, user=people[name], defaults={"is_trusted": True})
    at = place.now - timedelta(days=3)

    def topic(who: str, title: str, text: str) -> Topic:
        nonlocal at
        at += timedelta(hours=1)
        draft = Draft(people[who], text, numbers_confirmed=True)
        post = topic_create(competition=place.competition, draft=draft, title=title, now=at)
        return Topic.objects.select_related("competition").get(pk=post.topic_id)

    def reply(to: Topic, who: str, text: str) -> int:
        nonlocal at
        at += timedelta(minutes=20)
        return reply_create(topic=to, draft=Draft(people[who], text, numbers_confirmed=True), now=at).pk

    seeds = topic("ada", "Which seeds count, and where do we say so?", QUESTION)
    answer = reply(seeds, "olga", ANSWER)
    rude = seeds.posts.select_related("topic__competition").get(pk=reply(seeds, "dan", "That is a silly question."))
    post_remove(post=rude, by=people["olga"], reason="Be kind: it is a good question.", now=at)
    reply(seeds, "ben", "Thanks, that helped us, too.")
    topic_solve(topic=seeds, by=people["ada"], reply=answer)
    welcome = topic("olga", "Welcome: introduce yourselves", "Who are you, and what are you curious about?")
    topic_pin(topic=welcome, is_pinned=True, now=at)
    for number in range(28):
        reply(welcome, ("ada", "ben", "cleo")[number % 3], f"Hello number {number}, from a lab that likes molecules.")
    locked = topic("ben", "Late submissions", "Are they ranked?")
    reply(locked, "olga", "No.")
    topic_lock(topic=locked, is_locked=True, now=at)
    topic("ben", "W" * 60 + " " + "an exceedingly long title about the tautomers of everything that there is", "Hm?")
    news = Announcement(
        competition=place.competition, title="A new baseline", body="It is a **linear** one.", published_at=at
    )
    announcement_save(announcement=news, now=at)
    topic("cleo", "My repository", "All is at https://example.org/cleo, have a look.")
    reported = topic("dan", "Buy cheap electrons", "Only today.").posts.select_related("topic__competition").get()
    post_report(post=reported, by=people["ben"], text="This is an advertisement.", now=at)
    writer_ban(
        competition=place.competition,
        user=people["dan"],
        by=people["olga"],
        reason="Advertisements.",
        removes=False,
        now=at,
    )
    reply(locked, "olga", "As @ada asked, too; not `@ada`.")
    block(by=people["cleo"], username=people["dan"].username, now=at)
