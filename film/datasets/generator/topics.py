"""Topics of the made question pairs: what people ask about, and what they do with it."""

from __future__ import annotations

from dataclasses import dataclass

from film.datasets.generator.lexicon import table


@dataclass(frozen=True)
class Topic:
    """What people ask about within one topic: keys of the other tables, and things.

    Parameters
    ----------
    verbs, qualities, aids : tuple of str
        Keys of `VERBS`, `QUALITIES`, `AIDS` that make sense here.
    exchangeable : bool
        Whether one can switch from one thing to another.
    things : tuple of tuple of str
        Wordings of each thing; countable ones carry their article.
    """

    verbs: tuple[str, ...]
    qualities: tuple[str, ...]
    aids: tuple[str, ...]
    exchangeable: bool
    things: tuple[tuple[str, ...], ...]


def _topic(verbs: str, qualities: str, aids: str, things: str, exchangeable: bool = True) -> Topic:
    return Topic(
        tuple(verbs.split("/")),
        tuple(qualities.split("/")),
        tuple(aids.split("/")),
        exchangeable,
        tuple(table(things).values()),
    )


TOPICS: dict[str, Topic] = {
    "travel": _topic(
        "buy/choose/find/compare/cancel/share/design/finance",
        "cheap/luxurious/safe/famous/large/quiet",
        "a credit card/an agent/insurance/a passport/friends/the internet/a car",
        """
a flight|a plane ticket|an airfare
a hotel room|accommodation|lodging
a holiday|a vacation|a trip
a train journey|a railway ride
a visa|an entry permit
a suitcase|luggage|baggage
a guided tour|a sightseeing excursion
a cruise|a voyage by ship
a beach|a seaside resort
a hiking route|a trekking trail
a map|an atlas
a hostel|a backpacker dormitory
""",
    ),
    "cooking": _topic(
        "cook/prepare/store/buy/test/share/learn/sell",
        "cheap/healthy/traditional/easy/organic/famous",
        "an oven/sugar/meat/a recipe/special tools/friends",
        """
bread|a loaf|baked dough
pasta|noodles|spaghetti
soup|broth
a cake|a gateau
rice|pilaf
a salad|raw greens
dessert|pudding|sweets
breakfast|a morning meal
dinner|supper|an evening meal
a sauce|a gravy
potatoes|spuds
eggplant|aubergine
shrimp|prawns
coriander|cilantro
cookies|biscuits
a steak|a piece of beef
""",
    ),
    "programming": _topic(
        "learn/begin/fix/design/test/understand/improve/teach/choose/remove",
        "fast/reliable/easy/difficult/small/large/new/old",
        "a teacher/a degree/a computer/the internet/the manual/friends",
        """
Python
Java
JavaScript|JS
a website|a web page|an internet site
a mobile app|a phone application
a database|a data store
machine learning|ML|statistical models
an algorithm|a computational method
software|computer programs
a bug|a defect in code
a video game|a computer game
a spreadsheet|an Excel sheet
cloud hosting|remote servers
encryption|cryptography
""",
    ),
    "health": _topic(
        "treat/prevent/understand/measure/stop/test",
        "severe/mild/permanent/temporary/strange",
        "medicine/a doctor/surgery/exercise/insurance/sugar",
        """
a headache|head pain|migraine
insomnia|sleeplessness|trouble sleeping
back pain|an aching spine
a cold|a runny nose
the flu|influenza
acne|pimples|spots on the skin
anxiety|nervousness|constant worry
depression|feeling down|low mood
high blood pressure|hypertension
obesity|excess weight|being overweight
hair loss|baldness|balding
an allergy|hay fever
a cough|coughing
nausea|an upset stomach
fatigue|tiredness|exhaustion
heartburn|acid reflux
""",
        exchangeable=False,
    ),
    "money": _topic(
        "choose/find/understand/begin/compare/cancel/improve/protect",
        "safe/small/large/permanent/temporary/reliable/easy",
        "a lawyer/an agent/a loan/a degree/the internet/savings",
        """
a bank account|a checking account
a mortgage|a home loan
stocks|shares|equities
a pension|a retirement fund
taxes|a tax return
a salary|wages|pay
debt|money owed
cryptocurrency|bitcoin|digital coins
a household budget|a spending plan
real estate|property
a side job|extra income|a second gig
a startup|a young company|a new business
""",
    ),
    "study": _topic(
        "learn/understand/prepare/improve/teach/practise/begin/choose/finance/stop",
        "easy/difficult/new/famous/fast/cheap",
        "a teacher/a degree/the internet/friends/a loan/a computer",
        """
mathematics|math|maths
physics
chemistry
history|past events
English grammar|rules of English
a foreign language|another tongue
an essay|a term paper
an exam|a final test
homework|assignments
a scholarship|a study grant
a thesis|a dissertation
handwriting|penmanship
public speaking|giving speeches
reading|going through books
""",
    ),
    "gardening": _topic(
        "grow/buy/protect/remove/move/sell/keep",
        "small/large/organic/beautiful/cheap/old",
        "a garden/pesticides/special tools/a teacher/the internet",
        """
tomatoes|tomato plants
roses|rose bushes
a lawn|grass|turf
herbs|basil and mint
an apple tree|an orchard tree
weeds|unwanted plants
a hedge|a row of shrubs
mushrooms|edible fungi
strawberries|berries
a cactus|succulents
compost|rotted manure
an orchid|exotic flowers
""",
    ),
    "music": _topic(
        "learn/begin/practise/buy/sell/teach/choose/share",
        "cheap/easy/famous/traditional/used/quiet",
        "a teacher/sheet music/the internet/friends/a degree/special tools",
        """
the guitar|a six string
the piano|a keyboard instrument
the violin|the fiddle
drums|percussion
singing|vocals
a song|a tune|a melody
jazz|swing music
a choir|a vocal ensemble
a concert|a live show|a gig on stage
a microphone|a mic
music theory|harmony rules
the flute|a woodwind
""",
    ),
    "home": _topic(
        "buy/clean/fix/rent/sell/choose/move/design/protect/improve",
        "cheap/small/large/quiet/new/used/beautiful/old",
        "special tools/an agent/a loan/friends/the manual/insurance",
        """
a house|a family home
an apartment|a flat
a sofa|a couch|a settee
a fridge|a refrigerator
a washing machine|a laundry appliance
a carpet|a rug
a roof|roofing
a bathroom|a washroom
curtains|drapes
a wardrobe|a closet
a mattress|bedding
a lamp|lighting
a fence|railings
wallpaper|wall covering
a tap|a faucet
""",
    ),
    "vehicles": _topic(
        "buy/sell/fix/rent/clean/choose/test/finance/store/keep",
        "cheap/fast/used/new/reliable/quiet/large/small/safe",
        "a loan/insurance/special tools/the manual/a credit card/an agent",
        """
a car|an automobile
a motorcycle|a motorbike
a bicycle|a bike|a pushbike
a truck|a lorry
a van|a minibus
an engine|a motor
tires|tyres|car wheels
brakes|a braking system
a windshield|a windscreen
a boat|a small vessel
a trailer|a caravan
an electric scooter|an e-scooter
""",
    ),
    "work": _topic(
        "find/begin/stop/prepare/improve/choose/keep/cancel",
        "temporary/permanent/easy/difficult/famous/new",
        "a degree/a lawyer/an agent/the internet/friends/a car",
        """
a job|employment|paid work
a career|a professional path
an interview|a talk with recruiters
a resume|a CV|a curriculum vitae
an internship|a trainee post
a promotion|a step up the ladder
remote work|working from home|telecommuting
a contract|a written agreement
a meeting|a conference call
a team|a crew
freelancing|self employment
night shifts|overnight work
""",
    ),
    "gadgets": _topic(
        "buy/sell/fix/clean/choose/test/protect/compare/store",
        "cheap/fast/used/new/lightweight/waterproof/small/reliable",
        "a computer/the internet/special tools/the manual/a credit card",
        """
a laptop|a notebook computer
a phone|a cell phone|a mobile|a smartphone
a camera|a photo device
headphones|earphones|earbuds
a television|a TV set|a telly
a printer|a printing machine
a tablet|an iPad
a router|a wifi box
a watch|a timepiece
a battery|a power pack
a hard drive|a storage disk
a drone|a quadcopter
a torch|a flashlight
""",
    ),
    "fitness": _topic(
        "begin/learn/improve/practise/stop/teach/prepare/design",
        "easy/difficult/fast/safe/cheap/healthy",
        "a teacher/special tools/friends/a doctor/the internet",
        """
running|jogging
swimming|laps in the pool
yoga|stretching poses
weight lifting|strength training|pumping iron
cycling|riding a bike
boxing|prize fighting
a diet|an eating plan
a marathon|a 26 mile race
football|soccer
tennis|racket sport
meditation|mindfulness
climbing|bouldering
chess|the royal game
""",
    ),
    "pets": _topic(
        "buy/choose/keep/find/protect/treat/move",
        "cheap/small/large/old/quiet/healthy/beautiful",
        "a doctor/a garden/insurance/friends/a teacher",
        """
a dog|a hound
a puppy|a young dog
a cat|a kitty
a rabbit|a bunny
a parrot|a talking bird
a goldfish|aquarium fish
a hamster|a pet rodent
a horse|a pony
a snake|a serpent
a turtle|a tortoise
chickens|hens|poultry
bees|a beehive
""",
    ),
}
