import pytest

from memory.text.cues import announces_change, classify, find_commands, find_given_up, is_negated, split_code


@pytest.mark.parametrize(
    ("sentence", "bucket"),
    [
        ("My brother lives in Oslo.", "facts"),
        ("我在上海工作。", "facts"),
        ("I prefer window seats.", "preferences"),
        ("I don't like loud bars.", "preferences"),
        ("我不喜欢香菜。", "preferences"),
        ("她爱吃辣。", "preferences"),
        ("I'm allergic to peanuts.", "constraints"),
        ("Never commit secrets to the repository.", "constraints"),
        ("预算不超过三千元。", "constraints"),
        ("报告必须在周五之前交。", "constraints"),
        ("We decided to use Postgres.", "decisions"),
        ("Let's go with the blue logo.", "decisions"),
        ("我们决定采用新方案。", "decisions"),
        ("会议改成周五了。", "decisions"),
        ("The build fails on Windows.", "risks"),
        ("Be careful with the old cable.", "risks"),
        ("注意，升级脚本有坑。", "risks"),
        ("这个接口经常超时。", "risks"),
        ("Please send the invoice on Monday.", "actions"),
        ("I'll call the landlord tomorrow.", "actions"),
        ("下一步要把索引重建。", "actions"),
        ("请明天提醒小陈交房租。", "actions"),
    ],
)
def test_cues(sentence, bucket):
    assert classify(sentence) == bucket


@pytest.mark.parametrize(
    "sentence",
    [
        "I can't wait to see it.",
        "I've never been to Rome.",
        "If I liked tea, it would show.",
        "如果我喜欢茶，早就买了。",
        "We haven't decided yet.",
        "还没决定用哪个数据库。",
        "The deploy ran without any errors.",
        "They didn't fail the audit.",
        "部署没有报错。",
        "It looks like rain.",
        "Things like that happen.",
        "小猫很可爱。",
        "There is no need to hurry.",
        "不需要再买了。",
    ],
)
def test_negation_hypotheticals_and_other_senses_do_not_fool_the_cues(sentence):
    assert classify(sentence) == "facts"


def test_a_risk_may_be_conditional():
    assert classify("If the disk fills up the writer crashes.") == "risks"


def test_changes_and_what_was_given_up():
    assert announces_change("The review moved to Friday.")
    assert announces_change("会议改成周五。")
    assert not announces_change("The review is on Friday.")
    assert [phrase.split() for phrase in find_given_up("We use Kafka instead of RabbitMQ, finally.")] == [["rabbitmq"]]
    assert find_given_up("我不再喝咖啡了。") == ["喝咖啡了"]


def test_negation():
    assert is_negated("I don’t eat meat")
    assert is_negated("我不吃肉")
    assert not is_negated("I eat meat")


def test_commands_of_blocks_spans_prompts_lines_and_chinese_prose():
    text = (
        "Call `pip install -e .` first.\n"
        "$ git push origin main\n"
        "npm run build --prod\n"
        "```bash\n$ docker compose up -d\necho done\n```\n"
        "然后运行 python manage.py migrate 再试"
    )
    assert sorted(find_commands(text)) == [
        "docker compose up -d",
        "git push origin main",
        "npm run build --prod",
        "pip install -e .",
        "python manage.py migrate",
    ]


def test_prose_and_other_languages_are_no_commands():
    assert find_commands("make sure that the door is shut\ngo is a nice language\n我用 git 很久了") == []
    assert find_commands("```python\nimport git\n```") == []


def test_code_blocks_are_cut_from_the_prose():
    prose, blocks = split_code("Before.\n```sql\nSELECT 1;\n```\nAfter. ``` open")
    assert prose.split() == ["Before.", "After.", "```", "open"]
    assert [(language, code.strip()) for language, code in blocks] == [("sql", "SELECT 1;")]
