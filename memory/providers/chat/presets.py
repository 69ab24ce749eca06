"""The providers of chat models that MemOS knows: where they are, which setting holds their key, what they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class ChatPreset:
    """One provider. `key_setting` is "" where a local server wants no key; `url_setting` where it moves its address.

    `structured`: how it is told to answer JSON: by a schema, by asking for an object, or in words alone.
    `limit_field`: the field that bounds the answer. `cached_field`: the field of its usage that counts cached tokens,
    beside `prompt_tokens_details.cached_tokens`. `no_temperature`: how names of models begin that take none.
    `start_setting`: the setting with which MemOS serves its models itself, and fetches them where they are not there.
    """

    name: str
    base_url: str
    key_setting: str = ""
    url_setting: str = ""
    structured: Literal["schema", "object", "words"] = "schema"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    cached_field: str = ""
    no_temperature: tuple[str, ...] = ()
    start_setting: str = ""


PRESETS: Final[dict[str, ChatPreset]] = {
    preset.name: preset
    for preset in (
        ChatPreset(
            "openai",
            "https://api.openai.com/v1",
            "MEMOS_LLM_API_KEY",
            limit_field="max_completion_tokens",
            no_temperature=("o1", "o3", "o4", "gpt-5"),
        ),
        ChatPreset("anthropic", "https://api.anthropic.com/v1", "MEMOS_ANTHROPIC_API_KEY", structured="words"),
        ChatPreset(
            "qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "MEMOS_QWEN_API_KEY", structured="object"
        ),
        ChatPreset(
            "deepseek",
            "https://api.deepseek.com/v1",
            "MEMOS_DEEPSEEK_API_KEY",
            structured="object",
            cached_field="prompt_cache_hit_tokens",
        ),
        ChatPreset("ollama", "http://127.0.0.1:11434/v1", url_setting="MEMOS_OLLAMA_BASE_URL"),
        ChatPreset("vllm", "http://127.0.0.1:8000/v1", url_setting="MEMOS_VLLM_BASE_URL"),
        ChatPreset("llamacpp", "http://127.0.0.1:8080/v1", url_setting="MEMOS_LLAMACPP_BASE_URL"),
        ChatPreset("hf", "", url_setting="MEMOS_HF_BASE_URL", structured="words", start_setting="MEMOS_HF_PYTHON"),
    )
}
