"""Removes the common form of questions from their vectors, using sample questions without content.

The vector of "What would you recommend for my trip to Oslo?" is near everything that asks or recommends. The part that
it shares with empty questions of its kind doesn't distinguish memories, so it is removed before memories are compared,
as relevance models discount terms that every query has, and query banks texts near to every query (Bogolin et al.
2022, "Cross Modal Retrieval with Querybank Normalisation"). The words of the samples count half: a memory contains
"recommend" or "plan" by accident, however rare the word is among memories.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.text.analysis import terms

# The share of the frame that is removed. From 0.5 to 0.8, and with any half of the frames, all data sets gain about the
# same.
SHARE = 0.6
# If less of a question's vector is left without its names, the question asks for nothing else.
LEAST_LEFT = 0.4
# The weight of a frame's word in full-text search, relative to any other word.
TERM_WORTH = 0.5
# The sharpness of the weights of nearer frames, which are the softmax of SHARPNESS × cosine.
SHARPNESS = 15.0

FRAMES = (
    "Can you recommend something for me?",
    "What would you recommend for me?",
    "What are some good options you would suggest?",
    "What are some great ones I can try?",
    "I'm planning something. Do you have any suggestions?",
    "I'm looking for something new. What should I get?",
    "What are the best ways to do it?",
    "How can I do it?",
    "How should I do that?",
    "Can you help me with this?",
    "Could you give me some advice?",
    "What do you think about it?",
    "When did it happen?",
    "When did she do it?",
    "When is he going to do that?",
    "How long did it take?",
    "How long has she had it?",
    "How many times did he do it?",
    "How many are there?",
    "How often does she do it?",
    "How much does it cost?",
    "How old is he?",
    "Where did it happen?",
    "Where did she go?",
    "Where does he live?",
    "Where is it?",
    "Who is it?",
    "Who did he go with?",
    "Who gave it to her?",
    "Why did he do it?",
    "Why did she choose that?",
    "How did she feel about it?",
    "What did he do?",
    "What did she say about it?",
    "What does he like to do?",
    "What kind of thing is it?",
    "What is the name of it?",
    "What is it called?",
    "What is his job?",
    "What is it used for?",
    "What happened then?",
    "What are her plans?",
    "What have they done together?",
    "Which one did he choose?",
    "Which of them is it?",
    "Would she like it?",
    "Would he be interested in that?",
    "Did they ever do that?",
    "Does she have any?",
    "Is it still the same?",
    "Have I mentioned this before?",
    "What did I say about that?",
    "What did I run into?",
    "What did you tell me about it?",
    "What was my decision about this?",
    "Which tasks are left?",
    "What have I planned for this week?",
    "What is the latest on that?",
    "Can you list everything about it in order?",
    "Can you summarize what we discussed?",
    "Can you remind me what it was?",
    "你有什么推荐吗？",
    "你能给我一些建议吗？",
    "我应该怎么做？",
    "有什么好的办法吗？",
    "你觉得怎么样？",
    "是什么时候？",
    "什么时候发生的？",
    "在哪里？",
    "他在哪儿工作？",
    "他是谁？",
    "是谁做的？",
    "叫什么名字？",
    "是什么？",
    "是哪一个？",
    "有几个？",
    "有多少？",
    "多少钱？",
    "多久了？",
    "为什么？",
    "怎么样了？",
    "后来怎么样了？",
    "他做了什么？",
    "他喜欢什么？",
    "她的职业是什么？",
    "我之前说过什么？",
    "你还记得吗？",
    "是关于什么的？",
    "你能帮我总结一下吗？",
    "请列出所有的内容。",
    "是真的吗？",
)

FRAME_TERMS = frozenset(term for frame in FRAMES for term in terms(frame))


def take_out_names(names: np.ndarray, vector: np.ndarray, *, parts: Sequence[slice] = (slice(None),)) -> np.ndarray:
    """Remove the part of `vector` that lies in the space of the vectors of `names`.

    `vector` is a question's, float32 [dimensions], and `names` is float32 [names, dimensions]. Each of the `parts` of
    the vectors is treated by itself and keeps its length; one of which hardly anything would be left is left unchanged.
    """
    left = np.array(vector, dtype=np.float32)
    for part in parts:
        left[part] = _take_out_names(names[:, part], vector[part])
    return left


def _take_out_names(names: np.ndarray, vector: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(names.T)
    left = vector - basis @ (basis.T @ vector)
    length, whole = float(np.linalg.norm(left)), float(np.linalg.norm(vector))
    return np.asarray(left / length * whole) if length > 0 and length >= LEAST_LEFT * whole else vector


def take_out(frames: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Remove from the vectors of questions the part that they share with the nearest frames.

    `frames` is float32 [frames, dimensions] and `vectors` float32 [questions, dimensions]; all rows have unit length.
    """
    likeness = SHARPNESS * (vectors @ frames.T)
    shares = np.exp(likeness - likeness.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    left = vectors - SHARE * (shares @ frames)
    return np.asarray(left / np.linalg.norm(left, axis=1, keepdims=True), dtype=np.float32)
