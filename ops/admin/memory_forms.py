"""Forms for the curation of memories: corrections, and the confirmation of bulk actions."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.errors import InvalidInput
from memory.models import Memory
from memory.services.memories import edit
from memory.services.memories import tags as tagging
from memory.services.memories.change import MAX_REASON_CHARS, check_reason
from ops.bulk import MAX_SELECTED


class ReasonForm(forms.ModelForm):
    """The fields that staff may change of a memory that they may not read."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON_CHARS,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=gettext_lazy("Why you change it: kept with the former text and in the audit log."),
    )

    class Meta:
        model = Memory
        fields = ("importance",)

    def clean_reason(self) -> str:
        try:
            return check_reason(self.cleaned_data["reason"])
        except InvalidInput as error:
            raise ValidationError(error.message) from error


class MemoryForm(ReasonForm):
    """A correction of a memory, with its reason."""

    text = forms.CharField(
        label=gettext_lazy("Text"),
        strip=False,
        max_length=edit.MAX_TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField"}),
    )
    metadata = forms.JSONField(
        label=gettext_lazy("Metadata"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
    )

    class Meta:
        model = Memory
        fields = ("text", "metadata", "importance")

    def clean_text(self) -> str:
        """Restore the original line breaks, because browsers send CR LF for each."""
        text: str = self.cleaned_data["text"]
        if "\r\n" not in self.instance.text:
            text = text.replace("\r\n", "\n")
        try:
            return edit.check_text(text)
        except InvalidInput as error:
            raise ValidationError(error.message) from error

    def clean_metadata(self) -> dict[str, Any]:
        """Check that the metadata is a JSON object. An emptied field is an empty object."""
        metadata = self.cleaned_data["metadata"]
        if metadata is None:
            return {}
        if not isinstance(metadata, dict):
            raise ValidationError(_("Metadata is a JSON object."))
        try:
            return edit.check_metadata(metadata)
        except InvalidInput as error:
            raise ValidationError(error.message) from error


class CurationForm(forms.Form):
    """The confirmation of a bulk action, with the memories and a reason."""

    ids = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS, widget=forms.TextInput(attrs={"class": "vTextField", "size": 60})
    )

    def clean_ids(self) -> list[uuid.UUID]:
        try:
            ids = [uuid.UUID(value) for value in self.cleaned_data["ids"].split(",")]
        except ValueError as error:
            raise ValidationError(_("The selection is damaged: select the memories again.")) from error
        if len(ids) > MAX_SELECTED:
            raise ValidationError(_("At most %(count)s memories a time.") % {"count": f"{MAX_SELECTED:,}"})
        return list(dict.fromkeys(ids))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the action besides the memories."""
        return {"reason": self.cleaned_data["reason"]}


class TagForm(CurationForm):
    """The tags to add."""

    tags = forms.CharField(
        max_length=tagging.MAX_TAGS * (tagging.MAX_TAG_CHARS + 2),
        widget=forms.TextInput(attrs={"class": "vTextField", "size": 60}),
        help_text=gettext_lazy("Separated by commas. They are kept in the metadata, and the list is filtered by them."),
    )

    def clean_tags(self) -> list[str]:
        try:
            names = tagging.check_tags(self.cleaned_data["tags"].replace("，", ",").split(","))
        except InvalidInput as error:
            raise ValidationError(error.message) from error
        if not names:
            raise ValidationError(_("Name at least one tag."))
        return names

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "add": self.cleaned_data["tags"]}


class MergeForm(CurationForm):
    """The memory that survives a merge."""

    survivor = forms.UUIDField(widget=forms.HiddenInput, error_messages={"required": gettext_lazy("Choose one.")})

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if "ids" in values and "survivor" in values and values["survivor"] not in values["ids"]:
            self.add_error("survivor", _("The one that stays must be among the selected."))
        return values

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "survivor": str(self.cleaned_data["survivor"])}


class EraseForm(CurationForm):
    """The word that has to be typed before memories are erased for good."""

    WORD = "ERASE"
    typed = forms.CharField(max_length=20, widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}))

    def clean_typed(self) -> str:
        if self.cleaned_data["typed"] != self.WORD:
            raise ValidationError(_("Type %(word)s to go on.") % {"word": self.WORD})
        return self.WORD
