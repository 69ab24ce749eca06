"""Preferences as memories of their own kind, and up to where a session was read for them.

Both columns have a constant default: PostgreSQL rewrites no row for them.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0045_cube_files"),
    ]

    operations = [
        migrations.AddField(
            model_name='memory',
            name='is_preference',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='session',
            name='preference_turn',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name='memory',
            index=models.Index(condition=models.Q(('is_preference', True)), fields=['namespace', 'speaker'], name='memory_preferences'),
        ),
    ]
