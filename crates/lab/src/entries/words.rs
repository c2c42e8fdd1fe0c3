//! The words that entries are made of. The list is part of the program, so that what is made does
//! not hang on what a machine has; another may be given.

use crate::random::Random;

/// Words of one kind.
pub(super) struct Words<'a> {
    own: &'static [&'static str],
    given: &'a [String],
}

impl<'a> Words<'a> {
    /// Those that were given, or else the program's.
    pub(super) fn of(given: Option<&'a [String]>) -> Self {
        Self { own: WORDS, given: given.unwrap_or_default() }
    }

    /// Words in other scripts than Latin.
    pub(super) fn foreign() -> Self {
        Self { own: FOREIGN, given: &[] }
    }

    /// One of them.
    pub(super) fn draw(&self, random: &mut Random) -> &str {
        match self.given {
            [] => self.own[random.below(self.own.len() as u64) as usize],
            given => &given[random.below(given.len() as u64) as usize],
        }
    }
}

/// English, as a dictionary has it: some with apostrophes and accents, and a few with characters
/// that mean something in XML.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "about", "above", "across", "after", "again", "against", "agreed", "airport", "almost",
    "alone", "along", "already", "also", "although", "always", "among", "amount", "angle",
    "animal", "another", "answer", "anyone", "apple", "April", "around", "arrived", "aside",
    "asked", "August", "autumn", "away", "bakery", "balance", "bank", "basket", "beach",
    "because", "become", "before", "began", "behind", "believe", "below", "bench", "beside",
    "better", "between", "beyond", "bicycle", "bird", "blanket", "blue", "boat", "book",
    "border", "borrow", "bottle", "bottom", "boy", "branch", "bread", "breakfast", "bridge",
    "bright", "bring", "broken", "brother", "brown", "building", "burned", "bus", "business",
    "busy", "butter", "button", "calendar", "called", "candle", "cannot", "captain", "careful",
    "carried", "castle", "cause", "ceiling", "centre", "certain", "chair", "chance", "change",
    "cheese", "children", "choose", "circle", "city", "clean", "clear", "clock", "close",
    "cloud", "coast", "coffee", "cold", "collect", "colour", "common", "complete", "cook",
    "corner", "cotton", "could", "country", "course", "cousin", "covered", "cream", "cross",
    "crowd", "cup", "current", "curtain", "daily", "dark", "daughter", "December", "decide",
    "deep", "desk", "dictionary", "different", "dinner", "direction", "discover", "distance",
    "doctor", "door", "double", "down", "drawer", "dream", "dress", "drink", "during", "each",
    "early", "earth", "east", "easy", "edge", "eight", "either", "electric", "eleven", "empty",
    "engine", "enough", "entire", "evening", "every", "everybody", "example", "except",
    "exercise", "expect", "eye", "factory", "family", "famous", "farm", "farmer", "father",
    "February", "fence", "few", "field", "fifteen", "figure", "final", "finger", "finish",
    "fire", "first", "fish", "five", "floor", "flower", "follow", "foot", "forest", "forget",
    "forty", "forward", "found", "four", "fresh", "Friday", "friend", "front", "fruit", "full",
    "garden", "gate", "gather", "general", "gentle", "girl", "give", "glass", "gold", "grain",
    "grandfather", "grass", "great", "green", "ground", "grow", "guess", "half", "hammer",
    "hand", "happen", "harbour", "heart", "heavy", "height", "help", "hidden", "high", "hill",
    "history", "hold", "holiday", "home", "hope", "horse", "hospital", "hour", "house",
    "however", "hundred", "hungry", "hurry", "idea", "important", "inside", "interest", "iron",
    "island", "January", "join", "journey", "juice", "July", "jump", "June", "keep", "kettle",
    "key", "kind", "kitchen", "knife", "knock", "ladder", "lake", "lamp", "language", "large",
    "last", "late", "laugh", "lead", "leaf", "learn", "leather", "leave", "left", "lemon",
    "lesson", "letter", "level", "library", "light", "line", "listen", "little", "long",
    "look", "loose", "lost", "loud", "low", "lunch", "machine", "make", "many", "map", "March",
    "market", "matter", "May", "maybe", "meadow", "mean", "measure", "meet", "member",
    "memory", "middle", "mile", "milk", "million", "mind", "minute", "mirror", "Monday",
    "money", "month", "moon", "morning", "mother", "mountain", "mouth", "move", "much",
    "museum", "music", "narrow", "nearly", "necklace", "needle", "neighbour", "never", "new",
    "newspaper", "next", "night", "nine", "noise", "north", "nothing", "notice", "November",
    "number", "ocean", "October", "office", "often", "old", "once", "only", "open", "orange",
    "order", "other", "outside", "over", "own", "page", "paint", "pair", "paper", "parcel",
    "park", "part", "party", "path", "pencil", "people", "perhaps", "piano", "picture",
    "piece", "place", "plain", "plant", "plate", "platform", "pocket", "point", "polite",
    "poor", "possible", "post", "potato", "present", "price", "print", "promise", "pull",
    "purple", "push", "quarter", "question", "quick", "quiet", "quite", "radio", "railway",
    "rain", "rather", "reach", "read", "ready", "reason", "receive", "record", "red",
    "remember", "repair", "reply", "rest", "rice", "rich", "right", "ring", "river", "road",
    "rock", "room", "rope", "round", "rule", "sail", "salt", "same", "Saturday", "school",
    "science", "season", "second", "secret", "seem", "sell", "sentence", "September", "seven",
    "several", "shade", "shadow", "shelf", "ship", "shirt", "shoe", "shop", "short",
    "shoulder", "show", "side", "signal", "silver", "simple", "since", "sister", "sky",
    "sleep", "slow", "small", "smile", "smoke", "snow", "soap", "soft", "sometimes", "son",
    "song", "soon", "sound", "soup", "south", "space", "speak", "spoon", "spring", "square",
    "stairs", "stamp", "start", "station", "steam", "step", "still", "stone", "stop", "store",
    "storm", "story", "straight", "strange", "street", "string", "strong", "student", "sugar",
    "suit", "summer", "Sunday", "supper", "surprise", "sweet", "swim", "table", "tall",
    "taste", "teach", "telephone", "ten", "tent", "test", "thank", "theatre", "their",
    "themselves", "thick", "thin", "think", "third", "thirty", "thousand", "thread", "three",
    "through", "thumb", "Thursday", "ticket", "tide", "tiger", "time", "tired", "today",
    "together", "tomorrow", "tonight", "tool", "top", "touch", "toward", "town", "toy",
    "train", "travel", "tree", "trip", "trouble", "true", "trust", "try", "Tuesday", "turn",
    "twelve", "twenty", "twice", "two", "umbrella", "uncle", "under", "understand", "until",
    "upon", "usual", "valley", "village", "violin", "visit", "voice", "wait", "walk", "wall",
    "warm", "wash", "watch", "water", "wave", "weather", "Wednesday", "week", "weight", "west",
    "wheel", "when", "where", "whether", "which", "while", "white", "whole", "whose", "wide",
    "window", "winter", "wish", "with", "without", "woman", "wonder", "wood", "wool", "word",
    "work", "world", "worth", "write", "wrong", "yard", "year", "yellow", "yesterday", "young",
    "don't", "o'clock", "it's", "neighbour's", "mustn't", "cat's", "café", "naïve", "façade",
    "crème", "Ångström", "jalapeño", "résumé", "Zürich", "Q&A", "R&D", "1<2", "\"so\"",
];

/// From left to right and from right to left, composed characters and those outside the basic
/// plane.
#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "東京", "図書館", "雨の日", "窓のそば", "静かな夜", "本棚", "Москва",
    "библиотека", "дождь", "окно", "вечер", "книга", "Αθήνα",
    "βιβλιοθήκη", "βροχή", "παράθυρο", "ησυχία", "القاهرة",
    "مكتبة", "مطر", "نافذة", "هدوء", "ירושלים", "ספריה", "גשם",
    "חלון", "שקט", "서울", "도서관", "비", "창문", "조용한",
    "กรุงเทพ", "ห้องสมุด", "ฝน", "हिन्दी",
    "पुस्तकालय", "वर्षा", "😀", "𝔸𝔹", "𠮷野家", "📚",
    "👩‍🚀", "é́", "Tiếng", "Việt",
];
