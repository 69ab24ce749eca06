"""Facts that a language model reads in turns: how far a session was read, and what a fact is to its turns."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0035_pack_tokens'),
    ]

    operations = [
        migrations.AddField(
            model_name='session',
            name='extracted_turn',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='memorylink',
            name='kind',
            field=models.CharField(choices=[('supersedes', 'Supersedes'), ('restates', 'Restates'), ('contradicts', 'Contradicts'), ('both_hold', 'Both Hold'), ('derived_from', 'Derived From')], max_length=12),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('turn__lt', 0), models.Q(('session__startswith', 'document:'), _negated=True)), fields=['namespace', '-id'], name='memory_facts'),
        ),
    ]
