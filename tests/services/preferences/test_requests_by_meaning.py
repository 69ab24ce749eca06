"""The purpose of preferences, with the model that MemOS includes: a request finds what its user avoids, though they
share no word; and a factual question is answered as if there were no preferences.

With the policy the turn ranks higher, by one to four places of 62: the quantized model rounds differently on processors
without VNNI. A request still finds first the memories about Rome.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from django.utils import timezone

from memory.models import Memory
from memory.services.ingestion.ingest import ingest_batch
from memory.services.preferences.read import read_session
from memory.services.tenancy.policy import put_policy
from memory.text.analysis import terms
from memory.types import NewMemory

REQUEST, AVOIDS, TOP_K = "Find me a hotel in Rome for the weekend", "I avoid lively places.", 20
# Other statements of the same people: about Rome, hotels, themselves, and everything else.
OTHERS = """
The flight to Rome lands at noon on Friday.
Rome was founded in 753 before Christ, the guide said.
The hotel in Milan charged us twice.
Our hotel in Lisbon had a view of the river.
The conference in Rome was moved to October.
The train from Rome to Florence takes ninety minutes.
My passport expires in March.
The weekend shift at the hospital starts at six.
The airline lost one of our suitcases.
Tom booked the rental car for the trip.
The museum is closed on Mondays.
The taxi to the airport cost forty euros.
My sister works at the reception of a hotel.
The visa office opens at nine.
The ferry to Sardinia was cancelled.
The launch of the website is on the 28th.
The invoice of May was paid twice by mistake.
The server runs PostgreSQL with pgvector.
My daughter plays the violin in a small orchestra.
The deployment failed because the disk was full.
The budget for this quarter is forty thousand euros.
The meeting with the supplier is on Tuesday at ten.
The cat slept on the keyboard all afternoon.
A password was found in the public repository.
They walked along the coast until it got dark.
Unit tests must pass before a branch is merged.
His new glasses have a blue frame.
The gym opens at seven on weekdays.
My bike has a flat tyre again.
The dentist moved the appointment to Thursday.
The washing machine makes a strange noise.
Grandma turns ninety in August.
The neighbours are renovating their kitchen.
The recipe needs three eggs and a lemon.
The library extended the loan by two weeks.
My laptop battery lasts three hours.
The tax return is due at the end of July.
Anna finished her thesis on river ecology.
The garden needs water every other day.
Our team lost the match by one goal.
The new intern starts on Monday.
The landlord raised the rent by five per cent.
The printer on the second floor is out of toner.
Ben broke his arm while skiing.
The choir rehearses in the old town hall.
The parcel was left with the neighbour.
My phone number ends with 42.
The school play is on the last Friday of June.
The bridge is closed for repairs until autumn.
The doctor prescribed an antibiotic for ten days.
The course on statistics has twelve lessons.
The tomatoes on the balcony are ripe.
The customer in Hamburg wants the report in English.
My brother sold his motorcycle.
The alarm code of the office was changed.
The film about the mountaineers lasts three hours.
The contract with the printer's shop ends in December.
The dog has to see the vet next week.
The power was out for an hour this morning.
The lease for the storage room is too expensive.
""".strip().splitlines()


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def told(alice, model_dir) -> Iterator[str]:
    """Return the id of the turn, in a session with one speaker's other turns; rules read the preferences."""
    with override_settings(MEMOS_EMBEDDING_PROVIDER="minilm", MEMOS_MODEL_DIR=model_dir):
        have(alice, "rules")
        texts = [*OTHERS[::2], AVOIDS, *OTHERS[1::2]]
        turns = [NewMemory(session="home", role="user", text=text, speaker="Ana") for text in texts]
        done = ingest_batch([(alice.scope, turn) for turn in turns], now=timezone.now())
        assert all(one.accepted for one in done.outcomes)
        read_session(alice.scope, session="home", now=timezone.now())
        yield str(done.outcomes[texts.index(AVOIDS)].memory_id)


def have(tenant, preferences: str) -> None:
    put_policy(tenant.scope, wanted={"preferences": preferences}, now=timezone.now())


def ask(tenant, query: str) -> list[str]:
    body = {"namespace": "alice", "session_id": "elsewhere", "query": query, "top_k": TOP_K, "dry_run": True}
    answer = tenant.post("/v1/query", body)
    assert answer.status_code == 200, answer.content
    return [chunk["id"] for chunk in answer.json()["raw_chunks"]]


def test_a_request_brings_back_what_its_speaker_avoids(alice, told):
    assert len(OTHERS) >= 60
    assert not set(terms(REQUEST)) & set(terms(AVOIDS))
    found = ask(alice, REQUEST)
    assert len(found) == TOP_K

    have(alice, "off")
    assert found.index(told) < ask(alice, REQUEST).index(told)


@pytest.mark.parametrize(
    "question",
    [
        "When does the flight to Rome land?",
        "What did the hotel in Milan charge us?",
        "Where are lively places?",
        "Which conference is in Rome?",
        "When does the gym open?",
    ],
)
def test_a_question_of_facts_is_answered_as_if_there_were_none(alice, told, question):
    assert Memory.objects.in_scope(alice.scope).preferences().exists()
    found = ask(alice, question)
    have(alice, "off")
    assert ask(alice, question) == found
