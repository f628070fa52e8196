"""The content of e-mails, and that job names cannot inject headers."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.config.mail import one_address
from portal.models import BatchJob, Job, Session
from portal.services.mail import texts as letter_words
from portal.services.mail.messages import (
    Envelope,
    MailItem,
    MailKind,
    render_message,
    render_test_message,
    warn_at,
)
from portal.services.mail.texts import BilingualText
from spawner.slurm.model import Outcome

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TO = Envelope("id-1", "Portal <portal@hpc.example>", "ann@hpc.example", "https://portal", NOW)


def job(name: str = "train", **columns: Any) -> Job:
    times = {"started_at": NOW - timedelta(hours=2), "ended_at": NOW}
    found = BatchJob(id="j1", name=name, outcome=Outcome.COMPLETED)
    for column, value in (times | columns).items():
        setattr(found, column, value)
    return found


def session(name: str = "main", **columns: Any) -> Job:
    found = Session(id="s1", name=name, node="node01", started_at=NOW - timedelta(hours=1))
    for column, value in ({"expires_at": NOW + timedelta(minutes=14)} | columns).items():
        setattr(found, column, value)
    return found


def received(sent: EmailMessage) -> EmailMessage:
    """Return the message as its recipient's mail program parses it."""
    raw = sent.as_bytes()
    assert raw.isascii()
    found = message_from_bytes(raw, policy=default)
    assert isinstance(found, EmailMessage)
    return found


def text_of(found: EmailMessage) -> str:
    return str(found.get_content()).replace("\r\n", "\n")


def test_mail_has_what_happened_and_a_link() -> None:
    failed = job(
        outcome=Outcome.FAILED, reason="It left with code 1.", suggestion="Look at its log."
    )
    found = received(render_message(TO, [MailItem(MailKind.JOB_ENDED, failed)]))
    assert (found["Subject"], found["To"]) == ("Job train has failed", "ann@hpc.example")
    assert (found["From"], found["Message-ID"]) == (
        "Portal <portal@hpc.example>", "<id-1@hpc.example>",
    )  # fmt: skip
    assert found["Auto-Submitted"] == "auto-generated"
    assert found.get_content_type() == "text/plain"
    text = text_of(found)
    for expected in (
        "Job train has failed.\nIt ran for 2 hours.\nIt left with code 1.\nLook at its log.\n",
        "https://portal/jobs/j1\n",
        "https://portal/account/notifications\n",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("events", "subject"),
    [
        (MailItem(MailKind.SESSION_STARTED, session()), "Session main is ready"),
        (MailItem(MailKind.TIME_SHORT, session()), "Session main ends in 14 minutes"),
        (
            MailItem(MailKind.TIME_SHORT, job(expires_at=NOW + timedelta(seconds=80))),
            "Job train ends in 1 minute",
        ),
        (MailItem(MailKind.JOB_ENDED, job()), "Job train has completed"),
        (MailItem(MailKind.JOB_ENDED, job(outcome=Outcome.TIMEOUT)), "Job train ran out of time"),
        (
            MailItem(MailKind.JOB_ENDED, job("训练 é", outcome=Outcome.CANCELLED)),
            "Job 训练 é was cancelled",
        ),
    ],
)
def test_each_event_has_a_headline_of_its_own(events: MailItem, subject: str) -> None:
    assert received(render_message(TO, [events]))["Subject"] == subject


def test_several_things_come_in_one_letter_the_most_urgent_first() -> None:
    events = [
        *(MailItem(MailKind.JOB_ENDED, job(f"j{number}")) for number in range(30)),
        MailItem(MailKind.JOB_ENDED, job("bad", outcome=Outcome.OUT_OF_MEMORY)),
        MailItem(MailKind.TIME_SHORT, session()),
    ]
    found = received(render_message(TO, events))
    assert found["Subject"] == "Session main ends in 14 minutes and 31 more"
    text = text_of(found)
    assert text.index("main") < text.index("Job bad ran out of memory") < text.index("Job j0 ")
    assert "And 12 more: https://portal/jobs" in text


IN_CHINESE = replace(TO, language="zh")


def test_a_letter_is_in_the_readers_language_with_slurms_reasons_too() -> None:
    late = job(
        outcome=Outcome.TIMEOUT,
        reason="It reached its time limit of 2 hours and was stopped.",
        suggestion="Start it again with a longer time limit. Files it saved are still there.",
    )
    ends = datetime(2026, 3, 1, 12, 14, tzinfo=UTC)
    events = [
        MailItem(MailKind.JOB_ENDED, late),
        MailItem(MailKind.TIME_SHORT, session(expires_at=ends)),
    ]
    found = received(render_message(IN_CHINESE, events))
    assert found["Subject"] == "会话 main 将在 14 分钟后结束，另有 1 项"
    assert found["Content-Language"] == "zh-CN"
    text = text_of(found)
    for expected in (
        "会话 main 将在 14 分钟后结束。\n结束时间为 2026 年 3 月 1 日 12:14（UTC）。\n请保存",
        "作业 train 已超时。\n它运行了 2 小时。\n它达到了 2 小时的时间上限，已被终止。\n",
        "\n请用更长的时间上限重新启动",
        "您可以在此选择接收哪些通知：https://portal/account/notifications\n",
    ):
        assert expected in text


@pytest.mark.parametrize("kind", list(MailKind))
def test_every_letter_has_no_word_of_english_in_chinese(kind: MailKind) -> None:
    """Except for names and addresses."""
    for outcome in Outcome:
        for one in (job(outcome=outcome, expires_at=NOW + timedelta(minutes=7)), session()):
            found = received(render_message(IN_CHINESE, [MailItem(kind, one)] * 22))
            expected = str(found["Subject"]) + re.sub(r"https://\S+", "", text_of(found))
            assert set(re.findall(r"[A-Za-z]+\d*", expected)) <= {"train", "main", "node01", "UTC"}
    subject = str(received(render_test_message(IN_CHINESE))["Subject"])
    assert subject == "来自 Data Scientist Portal 的测试邮件"


def test_both_languages_have_the_same_gaps() -> None:
    texts = [text for text in vars(letter_words).values() if isinstance(text, BilingualText)]
    texts += letter_words.ENDED.values()
    assert len(texts) > 20
    for text in texts:
        gaps = [sorted(re.findall(r"\{\w+\}", words)) for words in text]
        assert gaps[0] == gaps[1], text


@pytest.mark.parametrize(
    "name",
    [
        "x\r\nBcc: all@hpc.example",
        "x\nSubject: y\n\n<b>body</b>",
        "x\u2028Bcc: all@hpc.example\x00\x1b[31m",
        "=?utf-8?q?x=0ABcc=3A_all=40hpc=2Eexample?=",
        "n" * 5000,
    ],
)
def test_a_name_stays_a_name(name: str) -> None:
    """It adds no header, and no control characters for terminals or mail programs."""
    bad = job(name, outcome=Outcome.FAILED, reason=f"no\r\n\r\n{name}")
    sent = render_message(TO, [MailItem(MailKind.JOB_ENDED, bad)])
    found = received(sent)
    assert found["Bcc"] is None
    assert [key for key in found.keys() if key not in sent] == []  # noqa: SIM118 - headers repeat
    assert len(found.get_all("Subject", [])) == 1
    assert len(found["Subject"]) <= 150
    assert not found.is_multipart()
    shown = found["Subject"] + text_of(found).replace("\n", "")
    assert shown.isprintable()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "ann@",
        "a@b, c@d",
        "ann@hpc.example\nBcc: x@y",
        "ann@hpc.example>",
        "a@[b",
        "a@b(",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    to = Envelope("id-1", TO.sender, address, TO.public_url, NOW)
    with pytest.raises(ValueError):
        render_test_message(to)


@given(st.text('ab@.,:;<>()[]\\"= \t?é', max_size=12))
def test_whatever_the_directory_has_is_an_address_or_none(address: str) -> None:
    to = Envelope("id-1", TO.sender, address, TO.public_url, NOW)
    with suppress(ValueError):
        assert render_test_message(to)["To"].addresses[0].domain


def test_time_is_short_later_for_what_is_short_itself() -> None:
    hour, minutes = timedelta(hours=1), timedelta(minutes=1)
    assert warn_at(NOW - 4 * hour, NOW) == NOW - 15 * minutes
    assert warn_at(NOW - hour, NOW) == NOW - 15 * minutes
    assert warn_at(NOW - 20 * minutes, NOW) == NOW - 5 * minutes


@pytest.mark.parametrize("text", ["", "portal", "a@b.c, d@e.f", "a@b.c\nBcc: d@e.f", "<@b.c>"])
def test_a_sender_is_one_address(text: str) -> None:
    with pytest.raises(ValueError, match="must be an e-mail address"):
        one_address(text)
    assert one_address("The Portal <p@x.example>").addr_spec == "p@x.example"
