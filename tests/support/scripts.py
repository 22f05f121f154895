"""Short answers in many scripts, written for these tests: two plain statements each."""

from typing import NamedTuple

__all__ = ["ANSWERS", "ScriptAnswer"]


class ScriptAnswer(NamedTuple):
    """An answer of two statements."""

    script: str
    lang: str
    text: str
    sentences: int = 2
    """How many sentences its marks tell apart: 1 where the script marks none."""


ANSWERS: tuple[ScriptAnswer, ...] = (
    ScriptAnswer("Latin", "en", "Water boils at 100 degrees. Ice melts at zero."),
    ScriptAnswer("Latin, Catalan", "ca", "L'aigua bull a 100 graus. El gel es fon a zero."),
    ScriptAnswer("Latin, Vietnamese", "vi", "Nước sôi ở 100 độ. Nước đá tan ở 0 độ."),
    ScriptAnswer("Greek", "el", "Το νερό βράζει στους 100 βαθμούς. Ο πάγος λιώνει στο μηδέν."),
    ScriptAnswer("Cyrillic", "ru", "Вода кипит при 100 градусах. Лёд тает при нуле."),
    ScriptAnswer("Georgian", "ka", "წყალი ადუღდება 100 გრადუსზე. ყინული დნება ნულზე."),
    ScriptAnswer("Armenian", "hy", "Ջուրը եռում է 100 աստիճանում։ Սառույցը հալվում է զրոյում։"),
    ScriptAnswer("Hebrew", "he", "המים רותחים במאה מעלות. הקרח נמס באפס."),
    ScriptAnswer("Arabic", "ar", "يغلي الماء عند مئة درجة. يذوب الجليد عند الصفر."),
    ScriptAnswer("Arabic, Urdu", "ur", "پانی سو ڈگری پر ابلتا ہے۔ برف صفر پر پگھلتی ہے۔"),
    ScriptAnswer("Devanagari", "hi", "पानी सौ डिग्री पर उबलता है। बर्फ शून्य पर पिघलती है।"),
    ScriptAnswer("Bengali", "bn", "জল একশো ডিগ্রিতে ফোটে। বরফ শূন্যে গলে।"),
    ScriptAnswer("Gurmukhi", "pa", "ਪਾਣੀ ਸੌ ਡਿਗਰੀ ਤੇ ਉਬਲਦਾ ਹੈ। ਬਰਫ਼ ਸਿਫ਼ਰ ਤੇ ਪਿਘਲਦੀ ਹੈ।"),
    ScriptAnswer("Tamil", "ta", "தண்ணீர் நூறு டிகிரியில் கொதிக்கிறது. பனிக்கட்டி பூஜ்ஜியத்தில் உருகும்."),
    ScriptAnswer("Telugu", "te", "నీరు వంద డిగ్రీల వద్ద మరుగుతుంది. మంచు సున్నా వద్ద కరుగుతుంది."),
    ScriptAnswer("Thai", "th", "น้ำเดือดที่หนึ่งร้อยองศา น้ำแข็งละลายที่ศูนย์องศา", 1),
    ScriptAnswer("Lao", "lo", "ນ້ຳຟົດທີ່ໜຶ່ງຮ້ອຍອົງສາ ນ້ຳກ້ອນລະລາຍທີ່ສູນອົງສາ", 1),
    ScriptAnswer("Khmer", "km", "ទឹកពុះនៅមួយរយអង្សា។ ទឹកកករលាយនៅសូន្យអង្សា។"),
    ScriptAnswer("Burmese", "my", "ရေသည် ၁၀၀ ဒီဂရီတွင် ဆူသည်။ ရေခဲသည် သုညတွင် အရည်ပျော်သည်။"),
    ScriptAnswer("Tibetan", "bo", "ཆུ་ནི་ཁོལ་གྱི་རེད།", 1),
    ScriptAnswer("Ethiopic", "am", "ውሃ በመቶ ዲግሪ ይፈላል። በረዶ በዜሮ ይቀልጣል።"),
    ScriptAnswer("Han", "zh", "水在一百度沸腾。冰在零度融化。"),
    ScriptAnswer("Kana and Han", "ja", "水は百度で沸騰します。氷は零度で溶けます。"),
    ScriptAnswer("Hangul", "ko", "물은 백 도에서 끓는다. 얼음은 영 도에서 녹는다."),
)
