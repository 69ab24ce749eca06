"""Sorts sentences into the buckets of a memory card by English and Chinese cue phrases, and finds shell commands.

Each rule has a cue and exceptions. Exceptions ("can't wait", "no errors", "还没决定") are blanked out before the cue is
searched for, and so are conditional clauses ("if I liked tea, …"), except for risks, which are conditional by nature.
Functions that take a sentence expect one of bounded length (see `split_sentences`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

BUCKETS = ("facts", "preferences", "constraints", "decisions", "risks", "actions")
MAX_COMMAND_CHARS = 200


class _Rule(NamedTuple):
    bucket: str
    cue: re.Pattern[str]
    exceptions: re.Pattern[str]
    in_conditionals: bool


def _phrases(english: str, chinese: str) -> re.Pattern[str]:
    """Compile a pattern that matches English alternatives as whole lower-case words, and Chinese ones anywhere."""
    joined = (re.sub(r"\s*\|\s*", "|", " ".join(alternatives.split())) for alternatives in (english, chinese))
    return re.compile(r"\b(?:{})\b|{}".format(*joined))


def _rule(bucket: str, english: str, chinese: str, but_not: tuple[str, str], *, in_conditionals: bool = False) -> _Rule:
    return _Rule(bucket, _phrases(english, chinese), _phrases(*but_not), in_conditionals)


# The first rule whose cue is found names the bucket, so the order matters.
_RULES = (
    _rule(
        "constraints",
        r"""must | mustn't | cannot | can't | can not | may not | shouldn't | should not | never | deadline | budget
        | no (?:more|less|later|fewer) than | at (?:most|least) | due (?:date|by|on) | limited to | up to \d+
        | allerg(?:y|ies|ic) | intoleran(?:t|ce) | not allowed | forbidden | prohibited | mandatory
        | (?:is|are) required | requirements? | only (?:if|after|before|when) | under no circumstances""",
        """必须|务必|不能|不可以|不得|不许|禁止|不要|不准|千万别|只能|截止|期限|最多|最少|至少|不超过|不少于|不晚于|预算|上限|限制
        |过敏|忌口""",
        (
            r"""(?:can't|cannot|can not|couldn't) (?:wait|believe|imagine|remember|help|complain|thank|tell|say|stop
            |even|agree|go wrong|get enough) | must(?:'ve| have) \w+ | (?:that|you|he|she|they|this) must (?:be|feel)
            | must be (?:so|really|very|pretty|quite)
            | i must (?:say|admit|confess) | (?:'ve|have|has|had|was|were|is|are|am|'s|'d) never
            | never (?:forget|mind|been|had|knew|thought|saw|got|did|went|seen|felt|\w+ed)
            | at least (?:i|you|we|it|that|there) | if only""",
            "不要紧|能不能|可不可以|不能不说",
        ),
    ),
    _rule(
        "decisions",
        r"""decided? | decision | agreed (?:to|on|that|with) | chose | chosen | opted | picked | approved | settled on
        | let's (?:go with|use|keep|stick|switch|do) | (?:will|'ll|going to|gonna) (?:use|go with|adopt|switch|keep)
        | (?:went|am going|are going|'m going|'re going) with | switch(?:ed|ing) (?:to|from|over)
        | mov(?:ed|ing) (?:from|over) | made up (?:my|our) minds? | committed to | signed (?:up|off) | finali[sz]ed
        | replaced | no longer (?:use|using) | instead of | from now on""",
        """决定|采用|选择了|选定|选了|敲定|改用|换成|改成|改为|改到|定了|定为|定在|确定用|就用|达成一致|一致同意|拍板|同意用
        |不再用|不再使用""",
        (
            r"""(?:haven't|hasn't|hadn't|have not|has not|didn't|did not|not|never|can't|couldn't|cannot|yet to|still|to
            |trying to|need to|must) (?:yet |really )?(?:decided?|agreed?|chosen?|chose|settled?)
            | (?:big|hard|tough|difficult|good|great) decision""",
            """(?:没有?|尚未|未|无法|不能|没法|待|再)(?:最终)?(?:决定|选定|敲定|定了|达成一致)|决定不了|由[^，。]{1,6}决定
            |一定了|肯定了|稳定了""",
        ),
    ),
    _rule(
        "risks",
        r"""careful | pitfalls? | beware | watch out | caution | warning | gotchas? | danger(?:ous)? | risks? | risky
        | vulnerab\w* | leaks? | leaked | leaking""",
        "注意|小心|当心|坑|风险|隐患|泄[露漏]|警告|危险|漏洞",
        (
            r"""(?:no|without|any|zero|low) (?:\w+ )?(?:risks?|leaks?|danger|pitfalls?|warnings?)
            | (?:take|took|taking) (?:the|a) risks?""",
            "(?:没有?|无|毫无)(?:任何)?(?:风险|隐患|漏洞|泄[露漏]|危险)|引起注意|注意力|矿坑|吸引[^，。]{0,3}注意",
        ),
        in_conditionals=True,
    ),
    _rule(
        "preferences",
        r"""prefer(?:s|red|ence|ences|ring)? | favou?rites? | likes | loves | hates | dislikes? | enjoys | adores
        | can't stand | fans? of | fond of | keen on | i'd rather | [a-z]{3,}s (?:love|hate|enjoy)
        | (?:i|we|you|he|she|they|who|and|also|really|do|does|did|always|still|not|don't|doesn't|didn't)
        (?:like|love|hate|enjoy|adore|loved|liked|hated|enjoyed)""",
        """喜欢|喜爱|偏好|偏爱|讨厌|厌恶|最爱|热爱|爱(?:吃|喝|看|听|玩|穿|用|去|读|做)|更愿意|宁愿|宁可|倾向于|爱好|不吃|不喝
        |习惯(?:用|喝|吃|早|晚|在)""",
        (
            r"""(?:would|'d) (?:like|love|hate) | (?:you|would you|do you) (?:like|love|prefer)
            | (?:looks?|feels?|felt|sounds?|seems?|things?|was|is|it's|just) (?:\w+ )?like
            | likes? (?:this|that|it'?s?) (?:is|was)""",
            "可爱|恋爱|亲爱",
        ),
    ),
    _rule(
        "actions",
        r"""todo | to-do | next steps? | action items? | remind | remember to | don't forget | follow up | please
        | make sure | let's | gonna | wanna | gotta | should | on my list | (?:can|could|would) you
        | (?:needs?|have|has|wants?|plans?|planning|hoping|aim|intend|about|supposed|going|promised|ought) to
        | (?:i|we)(?:'ll| will| shall) | will (?!be\b)\w+ | (?:'d|would) (?:like|love) to""",
        """待办|下一步|需要|得去|记得|请|提醒|别忘|安排|计划|打算|准备(?:去|在|做|把|买|写|开|学|换|明|下)|我会|我来|我去|回头
        |要去|要做|要把|帮我|想去|应该""",
        (
            r"""(?:don't|doesn't|didn't|not|no|never|won't) (?:really )?(?:need|needs|have|want|plan|going) to
            | (?:used|had|happy|glad|able|easy|hard) to | pleased? (?:to|with) | no need to | have to (?:say|admit)
            | going to (?:the|a|my|an) | (?:it|you)(?:'ll| will) | will (?:always|never)
            | (?:i|that|he|she|they) (?:should|will|'ll) be (?:fine|ok|okay|great|good|fun)""",
            "不需要|不必|没必要|无需|请问|请客|邀请|申请|请假|聘请|应该是|安排好了|不用",
        ),
    ),
    _rule(
        "risks",
        r"""bugs? | errors? | fail(?:s|ed|ure|ures|ing)? | crash(?:es|ed|ing)? | broken? | breaks | exceptions?
        | traceback | timed out | timeouts? | corrupt\w* | outage | regression | issues? | problems? | worried
        | deadlock\w* | data loss | stuck""",
        "报错|错误|失败|崩溃|异常|超时|故障|出错|死锁|宕机|丢失|担心|有问题|出问题|卡住",
        (
            r"""(?:no|not|without|any|zero|never|didn't|doesn't|don't|won't|fixed|solved|resolved)(?: \w+)?
            (?:bugs?|errors?|fail\w*|crash\w*|problems?|issues?|worr\w+|broken?|break|exceptions?)
            | (?:broken?|breaks?) (?:the ice|a record|up)
            | (?:bug|error|issue|problem)s? (?:is|are|was|were|got|has been) (?:fixed|solved|resolved|gone)""",
            """(?:没有?|无|不会|不再|不用|别|未)(?:任何|再|有)?(?:报错|错误|失败|崩溃|异常|超时|故障|出错|担心|问题)|修好|已修复""",
        ),
        in_conditionals=True,
    ),
)

_CONDITIONAL = re.compile(
    r"(?:\b(?:if|unless|whether|suppose|supposing|assuming)\b|如果|要是|假如|假设|倘若|万一|是否|要不要)[^,.;:，。；]*+"
)
_CHANGE = _phrases(
    r"""no longer | not any ?more | anymore | instead | rather than | changed? (?:to|from|my mind|our mind) | now
    | moved? (?:to|from) | switch(?:ed|ing)? (?:to|from|over) | replac(?:ed?|es|ing) | postponed | rescheduled
    | brought forward | pushed (?:back )?to | updated? to | correction""",
    "改成|改为|改到|改用|改在|换成|换到|不再|而不是|推迟|提前到|延期|取消|更正|现在(?:是|用|改)|搬到",
)
_GIVEN_UP = re.compile(
    r"(?:\b(?:no longer|instead of|rather than|switch(?:ed|ing)? from|moved? from|replac(?:ed?|es|ing)|stopped)\b"
    r"|不再|而不是|代替|取消)([^,.;，。；]{1,80})"
)
_NEGATION = _phrases(
    r"not | no | never | none | nothing | without | cannot | neither | nor | stopped | quit | cancell?ed | \w+n't",
    "不|没|無|无|别|未|取消",
)

_PROGRAMS = "(?:{})".format(
    "|".join(
        """sudo git pip pip3 pipx uv uvx poetry conda npm npx pnpm yarn node deno bun docker docker-compose podman
        kubectl helm terraform ansible-playbook python python3 pytest ruff mypy django-admin gunicorn celery
        cargo rustc go make cmake gcc mvn gradle java ruby bundle rails php composer psql mysql redis-cli
        sqlite3 curl wget ssh scp rsync apt apt-get brew yum dnf apk systemctl journalctl chmod chown mkdir
        rm cp mv ls cd cat grep sed awk tar export source bash sh aws gcloud az gh""".split()
    )
)
_COMMAND = re.compile(rf"(?:\./\S|{_PROGRAMS}\s)")
_FENCE = re.compile(r"^[ \t]*+```[ \t]*+([\w+-]*+)[^\n]*+$", re.MULTILINE)
_SHELLS = frozenset(("", "sh", "bash", "shell", "zsh", "console", "powershell", "ps1", "cmd", "bat"))
_CODE_SPAN = re.compile(r"`([^`\n]{2,200}+)`")
_PROMPT = re.compile(r"^[ \t]*+(?:\$|❯|PS>)[ \t]++(\S[^\n]*+)$", re.MULTILINE)
_BARE_LINE = re.compile(rf"^[ \t]*+({_PROGRAMS}[ \t]++[!-~][^\n]*+)$", re.MULTILINE)
_AFTER_CHINESE_VERB = re.compile(rf"(?:运行|执行|输入|命令是)[：: ]?({_PROGRAMS}(?: [\w./=@:+-]++){{1,8}})", re.ASCII)


def classify(sentence: str) -> str:
    """Return the bucket of the first rule with a cue outside its exceptions, else "facts"."""
    plain = _plain(sentence)
    certain = _CONDITIONAL.sub(" , ", plain)
    for rule in _RULES:
        text = plain if rule.in_conditionals else certain
        if rule.cue.search(text) and rule.cue.search(rule.exceptions.sub(" , ", text)):
            return rule.bucket
    return "facts"


def is_negated(sentence: str) -> bool:
    """Tell whether `sentence` is negated: one of two sentences with the same terms may deny the other."""
    return _NEGATION.search(_plain(sentence)) is not None


def announces_change(sentence: str) -> bool:
    """Tell whether `sentence` announces that something has changed ("moved to", "instead of", "改成", "不再")."""
    return _CHANGE.search(_plain(sentence)) is not None


def find_given_up(sentence: str) -> list[str]:
    """Return what `sentence` says has been given up: the words after "no longer", "instead of", "不再" or the like."""
    return [match.group(1) for match in _GIVEN_UP.finditer(_plain(sentence))]


def split_code(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return `text` without its fenced code blocks, and the blocks as (language, code)."""
    fences = list(_FENCE.finditer(text))
    prose: list[str] = []
    blocks: list[tuple[str, str]] = []
    start = 0
    for opening, closing in zip(fences[::2], fences[1::2], strict=False):
        prose.append(text[start : opening.start()])
        blocks.append((opening.group(1).lower(), text[opening.end() : closing.start()]))
        start = closing.end()
    prose.append(text[start:])
    return "\n\n".join(prose), blocks


def find_commands(text: str) -> list[str]:
    """Return the distinct shell commands of `text`, from code blocks and spans, prompts, bare lines and "运行 …"."""
    prose, blocks = split_code(text)
    lines = [
        line.strip().removeprefix("$ ") for language, code in blocks if language in _SHELLS for line in code.split("\n")
    ]
    spans = [match.group(1) for match in _CODE_SPAN.finditer(prose)]
    found = [command for command in (*lines, *spans) if _COMMAND.match(command)]
    found.extend(match.group(1) for match in _PROMPT.finditer(prose))
    found.extend(match.group(1) for match in _BARE_LINE.finditer(prose) if _is_command_line(match.group(1)))
    found.extend(match.group(1) for match in _AFTER_CHINESE_VERB.finditer(prose))
    return list(dict.fromkeys(command.strip()[:MAX_COMMAND_CHARS] for command in found))


def _is_command_line(line: str) -> bool:
    """Tell whether a line that starts with a program's name is a command and not a sentence ("make sure that …")."""
    words = line.split()
    return (
        len(line) <= MAX_COMMAND_CHARS
        and not line.rstrip().endswith((".", "!", "?", ",", ":"))
        and any(word.startswith("-") or not word.isalpha() for word in words[1:])
        and line.isascii()
    )


def _plain(sentence: str) -> str:
    return sentence.replace("’", "'").lower()
