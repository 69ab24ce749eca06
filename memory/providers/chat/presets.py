"""The providers of chat models that MemOS knows: where they are, which setting holds their key, what they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class ChatPreset:
    """One provider. `key_setting` is "" where a local server wants no key.

    `structured`: how it is told to answer JSON: by a schema, by asking for an object, or in words alone.
    `limit_field`: the field that bounds the answer.
    """

    name: str
    base_url: str
    key_setting: str = ""
    structured: Literal["schema", "object", "words"] = "schema"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"


PRESETS: Final[dict[str, ChatPreset]] = {
    preset.name: preset
    for preset in (
        ChatPreset("openai", "https://api.openai.com/v1", "MEMOS_LLM_API_KEY", limit_field="max_completion_tokens"),
        ChatPreset("anthropic", "https://api.anthropic.com/v1", "MEMOS_ANTHROPIC_API_KEY", structured="words"),
        ChatPreset(
            "qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "MEMOS_QWEN_API_KEY", structured="object"
        ),
        ChatPreset("deepseek", "https://api.deepseek.com/v1", "MEMOS_DEEPSEEK_API_KEY", structured="object"),
        ChatPreset("ollama", "http://127.0.0.1:11434/v1"),
        ChatPreset("vllm", "http://127.0.0.1:8000/v1"),
        ChatPreset("llamacpp", "http://127.0.0.1:8080/v1"),
    )
}
