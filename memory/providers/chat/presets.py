"""The known providers of chat models: their addresses, the settings of their keys, and their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class ChatPreset:
    """A provider; `key_setting` is "" if it needs no key, and `url_setting` is "" if its address is fixed.

    `structured` tells how it is asked for JSON: by a schema, as an object, or in words only. `limit_field` is the field
    that limits the answer. `cached_field` is a field of its usage that counts cached tokens, in addition to
    `prompt_tokens_details.cached_tokens`. `no_temperature` has the prefixes of models that refuse a temperature.
    `start_setting` is the setting that makes MemOS itself serve its models, and download them if necessary.
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
