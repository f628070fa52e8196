"""What e-mails say, in every language side by side: a sentence can't be written in one alone."""

from datetime import datetime
from typing import NamedTuple

from portal.said import Language
from spawner.model import Outcome


class Both(NamedTuple):
    """One text in each language; names in braces are filled in, the same ones in both."""

    en: str
    zh: str

    def to(self, language: Language, **values: object) -> str:
        """The text for this reader."""
        return str(getattr(self, language)).format(**values)


PRODUCT = "Data Scientist Portal"
ENDED = {
    Outcome.COMPLETED: Both("Job {name} is done", "作业 {name} 已完成"),
    Outcome.FAILED: Both("Job {name} has failed", "作业 {name} 失败"),
    Outcome.CANCELLED: Both("Job {name} was cancelled", "作业 {name} 已取消"),
    Outcome.TIMEOUT: Both("Job {name} ran out of time", "作业 {name} 已超时"),
    Outcome.OUT_OF_MEMORY: Both("Job {name} ran out of memory", "作业 {name} 内存不足"),
    Outcome.NODE_FAILED: Both("Job {name} was lost with its node", "作业 {name} 因节点故障而中断"),
}
SESSION_READY = Both("Session {name} is ready", "会话 {name} 已就绪")
SESSION_ENDS = Both("Session {name} ends in {left}", "会话 {name} 将在 {left}后结束")
JOB_ENDS = Both("Job {name} ends in {left}", "作业 {name} 将在 {left}后结束")
AND_MORE = Both("{title} and {count} more", "{title}，另有 {count} 项")
MORE_THERE = Both("And {count} more: {address}", "另有 {count} 项：{address}")
STOP = Both("{title}.", "{title}。")

RUNS_ON = Both("It runs on {node}.", "它在 {node} 上运行。")
ENDS_ON = Both("It ends on {moment}.", "它将于 {moment}结束。")
RAN_FOR = Both("It ran for {time}.", "它运行了 {time}。")
THAT_IS = Both("That is on {moment}.", "结束时间为 {moment}。")
SHORT = Both("less than a minute", "不到 1 分钟")
SAVE_WORK = Both(
    "Save your work. You may be able to give it more time on its page.",
    "请保存您的工作。您也许可以在其页面上延长时间。",
)
SAVE_BY_THEN = Both("What it hasn't saved by then is lost.", "届时尚未保存的内容会丢失。")

TEST = Both("A test from the {product}", "来自 {product} 的测试邮件")
TEST_TEXT = Both(
    "This is the e-mail that you asked for. The portal's e-mails reach you.",
    "这是您要求发送的邮件。您可以收到门户的邮件。",
)
CHOOSE = Both(
    "You choose what you are told here: {address}", "您可以在此选择接收哪些通知：{address}"
)


def moment(at: datetime, language: Language) -> str:
    """A day and its time, both UTC."""
    if language == "zh":
        return f"{at.year} 年 {at.month} 月 {at.day} 日 {at:%H:%M}（UTC）"
    return f"{at:%d %B %Y at %H:%M} UTC".lstrip("0")
