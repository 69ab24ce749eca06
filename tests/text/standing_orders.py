"""Standing orders, and sentences that only look like them, in English and Chinese. Written before the rules that find
them.

`DEVELOPED` is the half with which the rules were written; `HELD_OUT` is the other half, which only measures them. Each
is (orders, look-alikes).
"""

from __future__ import annotations

ORDERS = """
Never book hotels without free cancellation.
Always answer in French.
From now on, keep your replies under a hundred words.
Don't use emojis when you write to me.
Please call me Ann, not Annabelle.
You should always check with me before you spend more than 50 euros.
Whenever you plan a trip for us, leave Sundays free.
Do not ever share my phone number with anyone.
No meetings before ten, please.
Use metric units from now on.
Never suggest recipes with coriander.
Stop calling me sir.
Only book aisle seats for me.
In future, send me the summary before the meeting, not after it.
Always cite your sources.
I want you to always double-check the totals.
Never push to main without a review.
Please don't recommend horror films to my kids.
Every time I mention a new client, add them to the address book.
Under no circumstances delete photos.
You must never mention my salary in group chats.
Answer me in German from now on.
Make sure you always ask before cancelling anything.
Going forward, write dates as day-month-year.
Never wake me before seven on weekends.
Don't give me medical advice unless I ask for it.
Always put the invoice number in the subject line.
Keep your answers short and without bullet lists.
If I ask for a restaurant, only suggest vegetarian ones.
Never order from Amazon again.
Address me as Dr. Lee in all letters.
I'd like you to reply in Spanish from today on.
以后都用中文回复。
不要给我推荐含坚果的食物。
千万不要订没有免费取消的酒店。
从现在开始，回答请控制在一百字以内。
别再叫我老王了，叫我王老师。
每次付款之前都要先问我。
永远不要把我的电话号码告诉别人。
请始终用公制单位。
今后写邮件一律用敬语。
不许在周日给我安排会议。
以后订机票只订靠过道的座位。
回答我的时候不要用表情符号。
任何时候都不要删除我的照片。
请叫我小雅，不要叫全名。
以后不要再给我发广告了。
务必每次都注明出处。
周末早上七点以前别打扰我。
以后推荐餐厅只推荐素食的。
没有我的同意，不要替我回复邮件。
从今天起，日期都写成年月日的格式。
别在群里提我的工资。
请记住，不要用英文回答我。
每当我提到新客户，就把他加到通讯录里。
以后总结控制在三句话以内。
不要在没有评审的情况下合并代码。
今后报价都要含税。
绝对不能把草稿发给客户。
禁止使用我的信用卡订阅任何服务。
往后给我妈打电话要说普通话。
回复客户时一律先道歉再解释。
别给孩子们推荐恐怖片。
以后做菜都别放香菜。
""".strip().splitlines()

LOOK_ALIKES = """
Never mind.
Don't worry about it.
Never been to Paris before.
Always happy to help!
Don't be silly, it was nothing.
I never book hotels without reading the reviews.
Never say never.
Don't mention it.
From now on I'll run every morning.
Always nice to hear from you.
No problem at all.
Don't you think it's too cold?
He always answers in French.
In the future I want to live by the sea.
Never again!
Don't get me wrong, I liked it.
Stop it, you're making me blush.
Don't forget to buy milk tomorrow.
Every time I go there it rains.
Call me when you get home.
Never heard of that band.
We always meet on Mondays.
Don't tell me you've eaten it all!
Always a pleasure.
Can you answer in French?
No worries, take your time.
Never thought I'd enjoy opera.
You always make me laugh.
Don't send the email yet, I'm still editing.
My mother told me never to book the cheapest hotel.
Use the blue one for tonight.
Whenever I see her, we talk for hours.
别客气。
不要紧，慢慢来。
以后再说吧。
我从来不订没有评论的酒店。
永远爱你。
别担心，会好的。
每次去那里都下雨。
我以后想住在海边。
不用谢，应该的。
别忘了明天买牛奶。
千万别这么说，你帮了我很多。
不要了，谢谢。
她总是用法语回答。
以后有机会一起吃饭。
别逗了，哈哈。
你怎么总是这么客气？
我不要香菜。
别急，还有时间。
下次见！
不要难过，加油。
从现在开始我要每天跑步。
别提了，今天太倒霉了。
叫我怎么说呢。
不好意思，打扰了。
我们一直都是周一开会。
能用中文回答吗？
这次先别发邮件，我还在改。
老师不让我们在课堂上用手机。
以前从来没听说过这个乐队。
不要把伞忘在车上，等会儿可能下雨。
他让我别再迟到。
每当听到这首歌，我就想起大学。
你绝对不能错过这部电影！
别闹，我在开会。
""".strip().splitlines()

DEVELOPED = (ORDERS[::2], LOOK_ALIKES[::2])
HELD_OUT = (ORDERS[1::2], LOOK_ALIKES[1::2])
