"""The tiers by words of their own: the labels that clients compare with name products that are not used here."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0027_demo_procedures")]

    operations = [
        migrations.AlterField(
            model_name="memory",
            name="tier",
            field=models.CharField(
                choices=[("L1", "L1 Scratchpad"), ("L2", "L2 Semantic"), ("L3", "L3 Entities")],
                default="L2",
                max_length=2,
            ),
        ),
    ]
