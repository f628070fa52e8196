"""Texts of the e-mails, with all languages of a text side by side so that none is left out."""

from datetime import datetime
from typing import NamedTuple

from portal.i18n.translation import Language
from spawner.slurm.model import Outcome


class BilingualText(NamedTuple):
    """One text in each language, with the same placeholders in braces."""

    en: str
    zh: str

    def to(self, language: Language, **values: object) -> str:
        """Return the text in this language, with the placeholders filled in."""
        return str(getattr(self, language)).format(**values)


PRODUCT = "Data Scientist Portal"
ENDED = {
    Outcome.COMPLETED: BilingualText("Job {name} has completed", "作业 {name} 已完成"),
    Outcome.FAILED: BilingualText("Job {name} has failed", "作业 {name} 失败"),
    Outcome.CANCELLED: BilingualText("Job {name} was cancelled", "作业 {name} 已取消"),
    Outcome.TIMEOUT: BilingualText("Job {name} ran out of time", "作业 {name} 已超时"),
    Outcome.OUT_OF_MEMORY: BilingualText("Job {name} ran out of memory", "作业 {name} 内存不足"),
    Outcome.NODE_FAILED: BilingualText(
        "Job {name} was lost with its node", "作业 {name} 因节点故障而中断"
    ),
}
SESSION_READY = BilingualText("Session {name} is ready", "会话 {name} 已就绪")
SESSION_ENDS = BilingualText("Session {name} ends in {left}", "会话 {name} 将在 {left}后结束")
JOB_ENDS = BilingualText("Job {name} ends in {left}", "作业 {name} 将在 {left}后结束")
AND_MORE = BilingualText("{title} and {count} more", "{title}，另有 {count} 项")
MORE_THERE = BilingualText("And {count} more: {address}", "另有 {count} 项：{address}")
STOP = BilingualText("{title}.", "{title}。")

RUNS_ON = BilingualText("It runs on {node}.", "它在 {node} 上运行。")
ENDS_ON = BilingualText("It ends on {moment}.", "它将于 {moment}结束。")
RAN_FOR = BilingualText("It ran for {time}.", "它运行了 {time}。")
THAT_IS = BilingualText("That is on {moment}.", "结束时间为 {moment}。")
SHORT = BilingualText("less than a minute", "不到 1 分钟")
SAVE_WORK = BilingualText(
    "Save your work. You may be able to extend its time limit on its page.",
    "请保存您的工作。您也许可以在其页面上延长时间。",
)
SAVE_BY_THEN = BilingualText("Anything not saved by then is lost.", "届时尚未保存的内容会丢失。")

TEST = BilingualText("Test e-mail from the {product}", "来自 {product} 的测试邮件")
TEST_TEXT = BilingualText(
    "This is the test e-mail you requested. E-mails from the portal reach you.",
    "这是您要求发送的邮件。您可以收到门户的邮件。",
)
CHOOSE = BilingualText(
    "Change your notification settings: {address}", "您可以在此选择接收哪些通知：{address}"
)


def moment(at: datetime, language: Language) -> str:
    """Format a date and time in UTC."""
    if language == "zh":
        return f"{at.year} 年 {at.month} 月 {at.day} 日 {at:%H:%M}（UTC）"
    return f"{at:%d %B %Y at %H:%M} UTC".lstrip("0")
