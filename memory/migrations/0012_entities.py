"""Entities with their names, where memories mention them, what is said between them, and how far that is read."""

import django.db.models.deletion
import django.utils.timezone
import memory.models.keys
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0011_policy_and_decay'),
    ]

    operations = [
        migrations.CreateModel(
            name='Entity',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('name', models.CharField(max_length=128)),
                ('kind', models.CharField(choices=[('person', 'Person'), ('place', 'Place'), ('organisation', 'Organisation'), ('project', 'Project'), ('thing', 'Thing')], max_length=12)),
                ('merged_into', models.UUIDField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'verbose_name_plural': 'entities',
            },
        ),
        migrations.CreateModel(
            name='EntityPending',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'memory_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
        ),
        migrations.CreateModel(
            name='EntityWatermark',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'session', blank=True, editable=False, primary_key=True, serialize=False)),
                ('session', models.CharField(db_collation='C', max_length=128)),
                ('turn', models.IntegerField()),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.namespace')),
            ],
        ),
        migrations.CreateModel(
            name='EntityAlias',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('key', models.CharField(db_collation='C', max_length=128)),
                ('variant', models.SmallIntegerField(default=0)),
                ('name', models.CharField(max_length=128)),
                ('kind', models.CharField(choices=[('person', 'Person'), ('place', 'Place'), ('organisation', 'Organisation'), ('project', 'Project'), ('thing', 'Thing')], max_length=12)),
                ('weight', models.SmallIntegerField(default=0)),
                ('spoke', models.BooleanField(default=False)),
                ('first_word', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('last_word', models.CharField(blank=True, db_collation='C', default='', max_length=128)),
                ('home', models.UUIDField()),
                ('entity', models.UUIDField()),
                ('link', models.CharField(choices=[('own', 'the entity was made for it'), ('rule', 'it is the first or last name of one full name only'), ('stated', 'a memory says so'), ('apart', 'memories say different things of it: it stays apart'), ('staff', 'a person merged or split it')], default='own', max_length=8)),
                ('stated_in', models.UUIDField(null=True)),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'verbose_name_plural': 'entity aliases',
                'indexes': [models.Index(fields=['namespace', 'entity'], name='entityalias_of_entity'), models.Index(condition=models.Q(('first_word', ''), _negated=True), fields=['namespace', 'first_word'], name='entityalias_first_word'), models.Index(condition=models.Q(('last_word', ''), _negated=True), fields=['namespace', 'last_word'], name='entityalias_last_word')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'key', 'variant'), name='entityalias_name')],
            },
        ),
        migrations.CreateModel(
            name='EntityMention',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('alias', models.UUIDField()),
                ('start', models.IntegerField()),
                ('end', models.IntegerField()),
                ('occurred_at', models.DateTimeField()),
                ('active', models.BooleanField(default=True)),
                ('pinned', models.BooleanField(default=False)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(fields=['namespace', 'alias', '-occurred_at', '-id'], name='entitymention_timeline')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'start', 'end'), name='entitymention_place')],
            },
        ),
        migrations.CreateModel(
            name='EntityRelation',
            fields=[
                ('pk', models.CompositePrimaryKey('namespace_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.models.keys.new_id, editable=False)),
                ('subject_mention', models.UUIDField()),
                ('object_mention', models.UUIDField()),
                ('subject', models.UUIDField()),
                ('object', models.UUIDField()),
                ('predicate', models.CharField(choices=[('works_at', 'Works At'), ('studies_at', 'Studies At'), ('lives_in', 'Lives In'), ('comes_from', 'Comes From'), ('member_of', 'Member Of'), ('works_on', 'Works On'), ('family', 'Family'), ('friend_of', 'Friend Of'), ('colleague_of', 'Colleague Of'), ('owns', 'Owns'), ('part_of', 'Part Of'), ('likes', 'Likes')], max_length=12)),
                ('detail', models.CharField(blank=True, default='', max_length=40)),
                ('valid_from', models.DateTimeField(null=True)),
                ('valid_to', models.DateTimeField(null=True)),
                ('active', models.BooleanField(default=True)),
                ('memory', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='memory.memory')),
                ('namespace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='memory.namespace')),
            ],
            options={
                'indexes': [models.Index(fields=['namespace', 'subject'], name='entityrelation_subject'), models.Index(fields=['namespace', 'object'], name='entityrelation_object')],
                'constraints': [models.UniqueConstraint(fields=('namespace', 'memory', 'subject_mention', 'predicate', 'object_mention'), name='entityrelation_statement')],
            },
        ),
        # What is derived from a memory goes with it; the keys are those of `tenant_keys`. A name is not deleted while a
        # mention uses it, an entity not while a name stands for it. Statistics as in `plan_every_tenant_alike`.
        *(
            migrations.RunSQL(
                f"""
                ALTER TABLE memory_{table} ADD CONSTRAINT {table}_of_memory FOREIGN KEY (namespace_id, memory_id)
                    REFERENCES memory_memory (namespace_id, id) ON DELETE CASCADE;
                """,
                f"ALTER TABLE memory_{table} DROP CONSTRAINT {table}_of_memory;",
            )
            for table in ("entitymention", "entityrelation", "entitypending")
        ),
        migrations.RunSQL(
            """
            ALTER TABLE memory_entitymention ADD CONSTRAINT entitymention_of_alias FOREIGN KEY (namespace_id, alias)
                REFERENCES memory_entityalias (namespace_id, id);
            ALTER TABLE memory_entityalias ADD CONSTRAINT entityalias_of_entity FOREIGN KEY (namespace_id, entity)
                REFERENCES memory_entity (namespace_id, id);
            """,
            """
            ALTER TABLE memory_entitymention DROP CONSTRAINT entitymention_of_alias;
            ALTER TABLE memory_entityalias DROP CONSTRAINT entityalias_of_entity;
            """,
        ),
        *(
            migrations.RunSQL(
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS 0",
                f"ALTER TABLE memory_{table} ALTER COLUMN namespace_id SET STATISTICS -1",
            )
            for table in (
                "entity", "entityalias", "entitymention", "entityrelation", "entitywatermark", "entitypending"
            )
        ),
    ]
