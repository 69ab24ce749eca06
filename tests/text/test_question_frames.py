"""Words that questions have in common are removed from their vectors."""

from __future__ import annotations

import numpy as np
import pytest

from memory.text.question_frames import FRAMES, SHARE, take_out, take_out_names


def test_what_a_question_shares_with_its_frame_is_less_and_the_rest_is_more():
    frames = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
    question = np.array([[0.6, 0.8, 0.0]], dtype=np.float32)

    [left] = take_out(frames, question)

    whole = np.array([0.6 - SHARE, 0.8, 0.0])
    assert left.tolist() == pytest.approx((whole / np.linalg.norm(whole)).tolist())
    assert left.dtype == np.float32


def test_the_nearest_frame_counts_most():
    frames = np.eye(3, dtype=np.float32)[:2]
    [left] = take_out(frames, np.array([[0.8, 0.0, 0.6]], dtype=np.float32))
    assert left[0] < 0.4
    assert abs(left[1]) < 0.01


def test_each_question_is_taken_by_itself():
    chance = np.random.default_rng(1)
    frames, questions = (chance.standard_normal((rows, 8)).astype(np.float32) for rows in (5, 4))
    frames /= np.linalg.norm(frames, axis=1, keepdims=True)
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    together = take_out(frames, questions)
    assert np.allclose(together, np.vstack([take_out(frames, one[None]) for one in questions]), atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_frames_are_questions_in_both_languages_each_once():
    assert len(set(FRAMES)) == len(FRAMES)
    assert any(frame.isascii() for frame in FRAMES)
    assert any(not frame.isascii() for frame in FRAMES)


def test_the_names_of_speakers_are_taken_out_whole():
    names = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=np.float32)
    left = take_out_names(names[:1], np.array([0.6, 0.8, 0.0], dtype=np.float32))
    assert left.tolist() == pytest.approx([0.0, 1.0, 0.0])
    assert left.dtype == np.float32
    assert take_out_names(names, np.array([0.6, 0.0, 0.8], dtype=np.float32)).tolist() == pytest.approx([0.0, 0.0, 1.0])


def test_a_question_for_nothing_but_a_name_keeps_it():
    asked = np.array([0.96, 0.28, 0.0], dtype=np.float32)
    assert take_out_names(np.array([[1.0, 0.0, 0.0]], dtype=np.float32), asked).tolist() == asked.tolist()
