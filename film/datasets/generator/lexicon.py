"""Words of the made question pairs: what can be asked, and in which words.

Each entry of a table is one meaning; its wordings, parted by ``|``, may stand for each
other. Within one table no two entries share a wording.
"""

from __future__ import annotations


def table(text: str) -> dict[str, tuple[str, ...]]:
    """Key each line's wordings, parted by ``|``, by the first of them."""
    rows = [tuple(line.strip().split("|")) for line in text.strip().splitlines()]
    return {row[0]: row for row in rows}


# "{act}" is verb, thing and circumstances; "{thing}" alone never carries the question.
INTENTS: dict[str, tuple[str, ...]] = {
    "how": (
        "How do I {act}?",
        "How can I {act}?",
        "How does one {act}?",
        "What is the best way to {act}?",
        "What should I do to {act}?",
        "Can anyone tell me how to {act}?",
        "What are some tips to {act}?",
        "I want to {act}. How do I go about it?",
        "What steps does it take to {act}?",
    ),
    "duration": (
        "How long does it take to {act}?",
        "How much time do I need to {act}?",
        "How many days or weeks will I spend to {act}?",
        "What is the usual time frame to {act}?",
        "I want to {act}. How long will that be?",
    ),
    "cost": (
        "How much does it cost to {act}?",
        "What is the price to {act}?",
        "How expensive is it to {act}?",
        "How much money do I need to {act}?",
        "What will I have to pay to {act}?",
    ),
    "why": (
        "Why should I {act}?",
        "What are good reasons to {act}?",
        "What is the point if I {act}?",
        "Why do people {act}?",
        "What are the benefits when you {act}?",
    ),
    "why not": (
        "Why should I not {act}?",
        "What are good reasons not to {act}?",
        "Why don't people {act}?",
        "What are the drawbacks when you {act}?",
        "What speaks against it if I {act}?",
    ),
    "possible": (
        "Is it possible to {act}?",
        "Can I really {act}?",
        "Is there any way to {act}?",
        "Am I able to {act}?",
        "Could someone like me {act}?",
    ),
    "when": (
        "When should I {act}?",
        "What is the best time to {act}?",
        "At what point do I {act}?",
        "Which season or moment is right to {act}?",
    ),
    "where": (
        "Where can I {act}?",
        "Where do people go to {act}?",
        "Which is the best spot to {act}?",
        "Does anyone know a good site where I can {act}?",
    ),
    "worth": (
        "Should I {act}?",
        "Is it worth it to {act}?",
        "Is it a good idea to {act}?",
        "Does it make sense to {act}?",
        "Would you advise me to {act}?",
    ),
    "mistakes": (
        "What mistakes should I avoid when I {act}?",
        "What usually goes wrong when people {act}?",
        "What are common errors if you {act}?",
        "What pitfalls are there when I {act}?",
    ),
}

# From one thing to another: the words alone do not say which way.
SWITCHES = (
    "How do I switch from {old} to {new} {rest}?",
    "What is the best way to move from {old} to {new} {rest}?",
    "How can I replace {old} with {new} {rest}?",
    "How hard is the change from {old} to {new} {rest}?",
    "What should I know before I give up {old} for {new} {rest}?",
)

OPENINGS = ("Please help:", "Serious question:", "Just curious,", "Quick question:", "Hi all,")

VERBS = table("""
buy|purchase|shop for|order
choose|pick|select|decide on
find|locate|track down|look up
begin|start|get going with|enter into
learn|master|get good at|become skilled in
understand|make sense of|grasp|comprehend
fix|repair|mend|restore
clean|wash|get dirt off
improve|get more out of|enhance|boost
prepare|get ready with|set up
make|create|produce|build
sell|find a buyer for|cash in on|turn into money
keep|maintain|look after|take care of
stop|quit|give up on|put an end to
remove|eliminate|delete|dispose of
compare|weigh up|contrast
rent|lease|hire
move|transport|relocate|carry
store|stash|put away|preserve
teach|give lessons in|instruct others in
test|try out|check|examine
design|plan|draw up|lay out
practise|train|rehearse|drill
share|split|divide
measure|calculate|work out numbers for
protect|safeguard|shield|secure
finance|fund|pay for|cover the bill for
cancel|call off|back out of
cook|whip up|dish up
grow|raise|cultivate
treat|cure|heal
prevent|avoid|ward off
""")

QUALITIES = table("""
cheap|inexpensive|affordable|low cost|budget
luxurious|high end|premium|upscale|fancy
reliable|dependable|trustworthy|solid
fast|quick|speedy|rapid
quiet|silent|noiseless|low noise
small|tiny|compact|little
large|big|huge|spacious
safe|secure|risk free
easy|simple|effortless|straightforward
difficult|hard|challenging|tough
healthy|nutritious|wholesome|good for you
old|vintage|antique|aged
new|brand new|modern|recent
used|second hand|pre owned
strange|weird|odd|unusual
famous|well known|renowned|popular
temporary|short term|interim
permanent|long term|lasting
severe|serious|acute|intense
mild|slight|minor
traditional|classic|old fashioned
organic|natural|chemical free
beautiful|attractive|pretty|good looking
lightweight|light|easy to carry
waterproof|water resistant|rainproof
""")

PLACES = table("""
Paris|the French capital
London|the capital of England
New York|NYC|the Big Apple
Los Angeles|LA
San Francisco|the Bay Area
the United States|the US|America|the USA
the United Kingdom|the UK|Britain
the Netherlands|Holland
the Emirates|the UAE
Saint Petersburg|Leningrad
Mumbai|Bombay
Bangalore|Bengaluru
Chennai|Madras
Kolkata|Calcutta
Beijing|Peking
Istanbul|Constantinople
Ho Chi Minh City|Saigon
Washington|DC
Philadelphia|Philly
""")
PLACES |= {
    place: (place,)
    for place in """
Delhi, Tokyo, Berlin, Madrid, Rome, Vienna, Lisbon, Athens, Cairo, Nairobi, Lagos, Accra, Toronto,
Vancouver, Montreal, Chicago, Boston, Seattle, Denver, Texas, Florida, Ohio, Alaska, Mexico,
Brazil, Argentina, Chile, Peru, Colombia, Norway, Sweden, Finland, Denmark, Iceland, Ireland,
Scotland, Poland, Hungary, Romania, Greece, Turkey, Israel, Egypt, Morocco, Kenya, Ghana, Nigeria,
India, Pakistan, Nepal, Sri Lanka, Thailand, Vietnam, Malaysia, Singapore, Indonesia, Japan,
Korea, Taiwan, Australia, New Zealand
""".strip()
    .replace("\n", " ")
    .split(", ")
}

NUMBER_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
NUMBER_WORDS |= {9: "nine", 10: "ten", 12: "twelve", 15: "fifteen", 20: "twenty", 30: "thirty"}
NUMBER_WORDS |= {40: "forty", 50: "fifty", 60: "sixty", 80: "eighty", 90: "ninety"}
NUMBER_WORDS |= {100: "a hundred", 200: "two hundred", 500: "five hundred", 1000: "a thousand"}

# Wordings around a number; each unit takes the numbers that make sense with it.
UNITS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "hours": (("within {} hours", "in {} hours", "in just {} hrs"), (2, 3, 4, 5, 6, 8, 10, 12)),
    "days": (("within {} days", "in {} days", "over {} days"), (2, 3, 4, 5, 7, 10, 12, 20)),
    "weeks": (("within {} weeks", "in {} weeks", "over {} weeks"), (2, 3, 4, 5, 6, 8, 10)),
    "months": (("within {} months", "in {} months", "over {} months"), (2, 3, 4, 6, 8, 9, 15)),
    "dollars": (
        ("for under {} dollars", "with at most {} bucks", "for less than {} USD"),
        (20, 30, 40, 50, 60, 80, 100, 200, 500, 1000),
    ),
    "people": (
        ("for {} people", "for a group of {}", "for {} persons"),
        (2, 3, 4, 5, 6, 8, 10, 12),
    ),
    "age": (
        ("at age {}", "when I am {} years old", "at the age of {}"),
        (12, 15, 20, 30, 40, 50, 60, 80),
    ),
}

AUDIENCES = table("""
as a beginner|as a novice|with no experience|as a newbie
as an expert|as a professional|with years of practice
as a student|while at university|during college
as a teenager|as an adolescent|in my teens
as a pensioner|as a retired person|after retirement
as a parent|as a mother or father|with kids at home
with a full time job|while working all week|next to office work
on my own|alone|by myself|solo
as a foreigner|as an immigrant|as an expat
in winter|when it is cold outside|during the snowy season
in summer|when it is hot outside|during the warmest season
at night|after dark|in the late evening
""")

# Wordings of what one does something with or without.
AIDS = table("""
a teacher|a tutor|an instructor
a lawyer|an attorney|legal counsel
a degree|a diploma|formal education
a car|an automobile|a vehicle
a credit card|plastic money
a loan|borrowed money|credit
the internet|online access|a web connection
a computer|a PC|a desktop machine
special tools|particular equipment|professional gear
an oven|a stove
sugar|sweeteners
meat|animal products
medicine|drugs|pills
a doctor|a physician|medical help
surgery|an operation
exercise|working out|physical activity
pesticides|chemical sprays
a garden|a yard
sheet music|written notes
an agent|a broker|a middleman
insurance|coverage
a passport|travel documents
friends|company|other people
a recipe|cooking instructions
the manual|the handbook|official documentation
savings|money in the bank
""")
