"""Finds names in Chinese text by surnames, forms of address, endings of organisations, dictionaries and 《》.

Text is segmented by forward maximum matching, which repeatedly takes the longest dictionary word from the left. Unknown
text stays single characters, which is how most given names show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from memory.enums import EntityKind
from memory.text.analysis import FUNCTION_CHARACTERS
from memory.text.names import Lexicon, NameMatch

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_TITLE = re.compile(r"《([^《》\n]{1,40})》")
_JOINING = "是由和与在对让被给向跟为"
_JOINED = re.compile(f"(?:[^·•]*[{_JOINING}](?=[^·•]))?")
_TRANSLITERATED = re.compile(
    f"(?:(?<=[{_JOINING}])|(?<![\u4e00-\u9fff]))(?![{_JOINING}])[\u4e00-\u9fff]{{1,6}}(?:[·•][\u4e00-\u9fff]{{1,6}}){{1,3}}"
    "(?=[，。、；！？（(]|\\Z)"
)
_LONGEST_WORD = 8
MAX_ORGANISATION_WORDS = 4

KINSHIP = {
    "family": "妹妹 姐姐 哥哥 弟弟 爸爸 妈妈 父亲 母亲 丈夫 妻子 老公 老婆 儿子 女儿 表姐 表妹 表哥 表弟 堂姐 堂妹 "
    "堂哥 堂弟 孙子 孙女 "
    "爷爷 奶奶 外公 外婆 叔叔 阿姨 舅舅 姑姑 侄子 侄女 男友 女友 男朋友 女朋友 未婚夫 未婚妻".split(),
    "friend_of": "朋友 好友 好朋友 闺蜜 室友 同学 老同学 队友 邻居".split(),
    "colleague_of": "同事 老板 经理 上司 主管 导师 搭档 助理".split(),
}
_RELATIVES = frozenset(word for words in KINSHIP.values() for word in words)
_ADDRESS = frozenset("先生 女士 老师 医生 大夫 教授 经理 主任 律师 师傅 博士 院长 小姐 阿姨 叔叔 同学 总监 总".split())
_NAMING = frozenset("叫 名叫 叫做 名字叫 我叫 他叫 她叫 认识".split())
_LEFT = frozenset("和 跟 与 给 找 约 对 问 让 请 帮 陪 向 由 同 被 及".split()) | _NAMING | _RELATIVES
_RIGHT = frozenset(
    "说 告诉 是 和 跟 与 在 去 给 也 要 来 想 喜欢 负责 对 住 会 今天 昨天 明天 认为 觉得 表示 建议 正在 已经 一起 "
    "结婚 搬 做 把 送 "
    "毕业 工作 打电话 问 请 让 有 从 都".split()
)
_ORGANISATION = frozenset(
    """公司 有限公司 股份有限公司 集团 大学 学院 医院 银行 中学 小学 高中 研究所 研究院 实验室 基金会 出版社 协会
    俱乐部 工作室 幼儿园 事务所 图书馆 博物馆 乐队 电视台""".split()
)
_FIRM_ENDS = ("有限公司", "集团")
_PLACE_ENDS = frozenset("市省县区州镇村")
_NOT_IN_A_NAME = frozenset(
    """由 原 经 至 位于 加入 增加 参加 出席 担任 成立 创办 进入 考入 投考 就读 任职 以及 一 二 首批 第 第一 级 年 月
    日 号 与 两 三 这 那 某
    该 本 家 个 所 每 各 上 下 大 小 新 老 前 后 内 里 外 中 同 过 等 去 入 进 向 于 从""".split()
)


def find_chinese_names(text: str, lexicon: Lexicon) -> list[NameMatch]:
    """Return the names in the Chinese parts of `text`; they may overlap."""
    found = [
        NameMatch(match.start(1), match.end(1), match.group(1), EntityKind.THING, 2) for match in _TITLE.finditer(text)
    ]
    for match in _TRANSLITERATED.finditer(text):
        start = match.start() + _JOINED.match(match.group()).end()  # type: ignore[union-attr]
        found.append(NameMatch(start, match.end(), text[start : match.end()], EntityKind.PERSON, 2))
    for run in _HAN.finditer(text):
        places = list(_cut(run.group(), lexicon))
        words = [run.group()[start:end] for start, end in pairwise([*places, len(run.group())])]
        starts = [run.start() + place for place in places]
        for first, last, kind, weight in _in_run(words, lexicon):
            start, end = starts[first], starts[last] + len(words[last])
            found.append(NameMatch(start, end, text[start:end], kind, weight))
    return found


def _cut(run: str, lexicon: Lexicon) -> Iterator[int]:
    """Yield where the words of `run` begin."""
    start = 0
    while start < len(run):
        yield start
        longest = min(_LONGEST_WORD, len(run) - start)
        length = next((n for n in range(longest, 1, -1) if run[start : start + n] in lexicon.chinese_words), 1)
        # The word for the people of a place (ending in 人) contains the name of the place.
        start += length - (run[start : start + length - 1] in lexicon.places and run[start + length - 1] == "人")


def _in_run(words: Sequence[str], lexicon: Lexicon) -> Iterator[tuple[int, int, EntityKind, int]]:
    """Yield (first word, last word, kind, weight) for each name among `words`."""
    for position, word in enumerate(words):
        if _runs_over(words, position, lexicon):
            continue
        if (first := _organisation(words, position, lexicon)) is not None:
            yield first, position, EntityKind.ORGANISATION, 2
        elif word in lexicon.places:
            ends = position + 1 < len(words) and words[position + 1] in _PLACE_ENDS
            yield position, position + ends, EntityKind.PLACE, 2
        elif (
            word in lexicon.surnames
            and not _ends_name(word)
            and (last := _person(words, position, lexicon)) is not None
        ):
            yield position, last, EntityKind.PERSON, 2
        elif _is_known_person(words, position, lexicon):
            yield position, position, EntityKind.PERSON, 2


def _runs_over(words: Sequence[str], position: int, lexicon: Lexicon) -> bool:
    """Tell whether another word begins inside words[position] and ends after it: the segmentation may be wrong."""
    word, after = words[position], "".join(words[position + 1 : position + 3])[:2]
    return any(
        word[begin:] + after[:size] in lexicon.chinese_words
        for begin in range(1, len(word))
        for size in range(1, len(after) + 1)
    )


def _organisation(words: Sequence[str], position: int, lexicon: Lexicon) -> int | None:
    """Return the first word of the organisation whose name ends with words[position], or None if there is none."""
    word = words[position]
    if word not in _ORGANISATION:
        ends = any(word.endswith(end) and len(word) > len(end) + 1 for end in _ORGANISATION)
        return position if ends and word in lexicon.chinese_names else None
    first = position
    while first and position - first < MAX_ORGANISATION_WORDS and not _ends_name(words[first - 1]):
        first -= 1
        if words[first] in lexicon.places and (not first or words[first - 1] not in lexicon.places):
            break
    inside = words[first:position]
    proper = any(part in lexicon.places or part in lexicon.chinese_names for part in inside)
    spelled = sum(len(part) == 1 for part in inside) >= 2
    firm = word.endswith(_FIRM_ENDS) and len("".join(inside)) >= 2
    return first if proper or spelled or firm else None


def _ends_name(word: str) -> bool:
    return word in _NOT_IN_A_NAME or FUNCTION_CHARACTERS.issuperset(word) or word in _RELATIVES or word in _RIGHT


def _person(words: Sequence[str], position: int, lexicon: Lexicon) -> int | None:
    """Return the last word of the person whose surname is words[position], or None if it isn't a person."""
    if position + 1 == len(words):
        return None
    before = words[position - 1] if position else ""
    if words[position + 1] in _ADDRESS:
        return position + 1 if not before or _ends_name(before) or before in _LEFT else None
    last = position
    while last < position + 2 and last + 1 < len(words) and _is_given(words[last + 1]):
        last += 1
    called = before in "我他她" and position > 1 and words[position - 2] in _NAMING
    named = called or before in _NAMING or before in _RELATIVES
    if last == position:
        # The given name is itself a dictionary word: accept it only where a name has to follow.
        return position + 1 if named and len(words[position + 1]) == 2 else None
    after = words[last + 1] if last + 1 < len(words) else ""
    if named or ((not before or before in _LEFT) and (not after or after in _RIGHT)):
        return last if named or after or before else None
    return None


def _is_known_person(words: Sequence[str], position: int, lexicon: Lexicon) -> bool:
    """Tell whether a dictionary word is a full name with the surname first, in a place where a name has to follow."""
    word, before = words[position], words[position - 1] if position else ""
    named = before in _NAMING or before in _RELATIVES
    return named and len(word) in (2, 3) and word[0] in lexicon.surnames and word in lexicon.chinese_names


def _is_given(word: str) -> bool:
    return len(word) == 1 and word not in FUNCTION_CHARACTERS and word not in _RIGHT and word not in _LEFT
