"""The portal's sentences in Chinese; the frontend and the e-mails use the same examples."""

import json
import re

import pytest

from portal.i18n.translation import Translator, translate
from tests.paths import TESTS
from tests.sentences import translations

# also used by frontend/src/i18n/translate.zh.test.ts
TRANSLATED = TESTS / "data/translated.json"
EXAMPLES: dict[str, str] = json.loads(TRANSLATED.read_text())


@pytest.mark.parametrize("english", EXAMPLES)
def test_message_is_found_in_the_catalog(english: str) -> None:
    assert translate(english, "zh") == EXAMPLES[english]
    assert translate(english, "en") == english


def test_every_sentence_of_the_catalogue_is_found_with_all_its_pieces() -> None:
    def example(template: str, translation: str) -> str:
        numbers = re.findall(r"\{(\d+):number\}", translation)
        return re.sub(
            r"\{(\d+)(?::[a-z]+)?\}",
            lambda gap: f"{'10' if gap[1] in numbers else 'xq'}{gap[1]}",
            template,
        )

    def bare(text: str) -> str:  # the translation may add or remove spaces
        return text.replace(" ", "")

    differing = {
        english: words
        for english, translation in translations().items()
        if bare(words := translate(example(english, translation), "zh"))
        != bare(example(translation, translation))
    }
    assert differing == {}


def test_quoted_user_text_is_not_translated() -> None:
    reader = Translator({"There is no “{0}” in {1}.": "{1:term}中没有“{0}”。", "down": "宕机"})
    assert reader.translate("There is no “down” in down.") == "宕机中没有“down”。"
    assert reader.translate("There is no “” in down.") == "There is no “” in down."


def test_a_single_word_is_translated_only_where_the_portal_puts_one() -> None:
    texts = {"{0} has no {1} left.": "{0} 没有剩余{1:term}。", "time": "时间", "CPUs": "CPU"}
    reader = Translator(texts)
    assert reader.translate("time has no time left.") == "time 没有剩余时间。"
    assert reader.translate("time and CPUs has no time and CPUs left.") == (
        "time and CPUs 没有剩余时间和 CPU。"
    )


def test_a_gap_takes_no_sentence_that_has_its_own_words() -> None:
    reader = Translator({"{0} is too long.": "{0}太长。", "It was cancelled.": "已取消。"})
    assert reader.translate("It was cancelled. Its name is too long.") == "已取消。Its name 太长。"


@pytest.mark.parametrize("text", ["No answer: " * 180, ". " * 1000, "It has: x. " * 180])
def test_what_holds_itself_again_and_again_is_read_to_an_end(text: str) -> None:
    assert translate(text, "zh").endswith(text[-60:])


def test_pieces_are_looked_for_only_so_deep() -> None:
    reader = Translator({"in {0} it": "在{0}里"})
    assert reader.translate("in " * 20 + "x y" + " it" * 20).count("在") == 9


def test_what_is_too_long_to_be_a_sentence_stays() -> None:
    text = "It was cancelled. Start it again. " * 1000
    assert translate(text, "zh") == text
