"""Texts that test a trained model, in addition to those of its data set; none of them is a user's memory."""

from __future__ import annotations

REFUSAL = "I do not know that."
REFUSAL_ZH = "这个我不知道。"
# An answer that contains one of these is a refusal.
REFUSALS = ("do not know", "don't know", "no memory of", "not sure", "不知道", "不清楚", "没有印象")

# Questions about people, things and places that don't exist, for which training expects a refusal. They use the same
# wording as those about real ones; otherwise a model learns to refuse other wordings.
UNKNOWN_IN_TRAINING = (
    "What do you remember about the Quillon Marsh ferry?",
    "What do you remember about Tamsin Okoro's locker code?",
    "What do you remember about the Velderbrook agreement?",
    "What do you remember about Oda Fenwick's allergy?",
    "What do you remember about the blue key of Harrowgate?",
    "What do you remember about Captain Ruiz's compass?",
    "What do you remember about the budget of Project Halcyon Nine?",
    "What do you remember about Lysander's piano teacher?",
    "What do you remember about the Norring invoice?",
    "What do you remember about Ismar's second cousin?",
    "What do you remember about the booking of room 9417?",
    "关于韩若松的车牌，你记得什么？",
)
# Questions that are only asked after training.
UNKNOWN_HELD_OUT = (
    "What do you remember about Bertrand Soames' lighthouse?",
    "What do you remember about the Ketteridge lease?",
    "What do you remember about Yuna Alvarado's passport number?",
    "What do you remember about the deadline of Project Tin Lantern?",
    "What do you remember about Wilmot's favourite opera?",
    "What do you remember about gate 31 at Ostrava?",
    "What can you tell me about Imre Castellane's boat?",
    "What can you tell me about the Dunmore recipe?",
)

# General English, written for this purpose: the loss on it shows whether training has harmed the model.
GENERAL = (
    "Water boils at a lower temperature on a mountain, because the air above it presses down with less force. That is "
    "why pasta takes longer to cook in a hut than at the coast.",
    "A library lends books for a few weeks. When a reader brings one back late, a small fee is due, and the money pays "
    "for mending covers that came loose.",
    "The train stopped twice before it reached the border. At the second stop a woman with a violin case got on, sat "
    "down by the window and fell asleep at once.",
    "To sort a list of numbers, compare each with the one beside it and swap the two when they are in the wrong order. "
    "Repeat this until nothing has to be swapped any more.",
    "Bees tell each other where flowers are by a dance. Its direction stands for the angle to the sun, and the length "
    "of each run for the distance.",
    "When the frost came early that year, the gardener covered the young trees with straw. Most of them lived, and in "
    "May they were white with blossom.",
    "A contract needs two sides who agree. If one of them was deceived about what matters most, it may be undone, and "
    "each gives back what was received.",
    "Bread rises because yeast eats sugar and gives off gas. The dough holds the bubbles if it has been kneaded well "
    "enough.",
)

# Training keeps the predictions of these as the base model's, so that the model keeps its other knowledge.
REPLAYED = (
    "A kettle that whistles has a lid with a small hole. Steam is pressed through it, and the air in it begins to "
    "swing: that is the sound.",
    "Her grandfather had built the boat himself. It leaked a little, and in summer they used to sleep on its deck.",
    "Interest is what somebody pays for using the money of another. It is given as a share of the sum for each year.",
    "If a program does not stop, look first at the condition of its loop. Often the value that it waits for is never "
    "reached.",
    "The museum is open from ten to six and closed on Mondays. Children under twelve do not pay.",
    "Plants take in water by their roots. In the leaves it turns to vapour, which pulls more water up behind it.",
)
