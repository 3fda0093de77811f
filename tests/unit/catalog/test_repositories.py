"""Addresses of repositories are checked in form; a commit is named by its whole hash."""

import pytest

from competitions.catalog.questions import AnswersInvalid, AskedQuestion, read_answers
from competitions.catalog.repositories import RepositoryInvalid, commit_hash, pinned_repository, repository_address
from competitions.factsheets.models import Question

HASH = "0123abcd" * 5


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/snap-stanford/ogb",
        "https://gitlab.example.org/group/sub/project.git",
        "https://codeberg.org/a/b/",
    ],
)
def test_a_public_repository_is_taken(address: str) -> None:
    assert repository_address(f" {address} ") == address


@pytest.mark.parametrize(
    "address",
    [
        "", "github.com/a/b", "http://github.com/a/b", "ssh://git@github.com/a/b", "git@github.com:a/b.git",
        "https://github.com/a", "https://github.com", "https://github.com//b", "https://user:secret@github.com/a/b",
        "https://github.com:8443/a/b", "https://github.com/a/b?token=x", "https://github.com/a/b#readme", "https://localhost/a/b",
        "https://127.0.0.1/a/b", "https://[::1]/a/b", "https://[/a/b", "https://github.com/a/../b", "https://github.com/a/b c",
        "javascript:alert(1)", "https://GitHub.com/a/b\n/c",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_form_that_is_expected(address: str) -> None:
    with pytest.raises(RepositoryInvalid, match="Write it as https"):
        repository_address(address)


def test_a_commit_is_its_whole_hash() -> None:
    assert commit_hash(f" {HASH.upper()}\n") == HASH
    for text in ("", "main", "v1.0", HASH[:7], HASH + "0"):
        with pytest.raises(RepositoryInvalid, match="all 40 hexadecimal digits"):
            commit_hash(text)


@pytest.mark.parametrize("path", [f"/tree/{HASH}", f"/commit/{HASH}", f"/-/tree/{HASH}", f"/tree/{HASH}/"])
def test_a_pinned_repository_is_taken_as_its_pages_have_it(path: str) -> None:
    address = f"https://github.com/a/b{path}"
    assert pinned_repository(address) == address


@pytest.mark.parametrize("path", ["", "/tree/main", f"/tree/{HASH[:7]}", f"/blob/{HASH}/x", f"?at={HASH}"])
def test_a_repository_without_a_pinned_commit_is_refused(path: str) -> None:
    with pytest.raises(RepositoryInvalid):
        pinned_repository(f"https://github.com/a/b{path}")


def test_a_question_may_ask_for_a_repository_at_a_commit() -> None:
    question = Question(key="code", title="Code", kind=AskedQuestion.Kind.REPOSITORY)
    address = f"https://github.com/a/b/tree/{HASH}"
    assert question.is_address
    assert read_answers([question], {"code": address}) == {"code": address}
    with pytest.raises(AnswersInvalid, match="names no commit"):
        read_answers([question], {"code": "https://github.com/a/b"})
