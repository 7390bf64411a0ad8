"""Scripts and binary properties of Unicode 14 that Python's `unicodedata` does not know.

Each value is a set of code points, written as the differences, in base 36, between the ends of its ranges: the
beginning of the first range, the code point after it, the beginning of the second range, and so on. The data are those
of the Unicode Character Database (Scripts.txt, ScriptExtensions.txt, DerivedCoreProperties.txt, emoji-data.txt)."""

from __future__ import annotations

SCRIPTS = """
Adlam Adlm: 2olc 24 4 a 4 2
Ahom: 1j40 r 2 f 4 n
Anatolian_Hieroglyphs Hluw: 1s00 g7
Arabic Arab: 16o 5 1 6 1 e 1 3 1 w 1 a b q 1 30 1 y 28 1c 6o v 1 2 6 22 1 t 1bv4 37 g a3 2 28 2 1i 7 1 w g 34 5
 1 3r 31f v 185d 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1
 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2
Armenian Armn: 10x 12 2 1e 2 3 1chv 5
Avestan Avst: 1gqo 1i 3 7
Balinese Bali: 5c0 25 3 1b
Bamum Bamu: www 2g 124o ft
Bassa_Vah Bass: 1zo0 u 2 6
Batak Batk: 5hc 1g 8 4
Bengali Beng: 1vk 4 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 p
Bhaiksuki Bhks: 1k3k 9 1 19 1 e a t
Bopomofo Bopo: kq 2 93t 17 34 w
Brahmi Brah: 1hq8 26 4 10 9 1
Braille Brai: 7wg 74
Buginese Bugi: 54w s 2 2
Buhid Buhd: 4lc k
Canadian_Aboriginal Cans: 3y8 hs fk 1y 1ewq g
Carian Cari: 1f34 1d
Caucasian_Albanian Aghb: 1flc 1g b 1
Chakma Cakm: 1hxc 1h 1 i
Cham: xkw 1j 9 e 2 a 2 4
Cherokee Cher: 3vk 2e 2 6 twy 28
Chorasmian Chrs: 1ho0 s
Common Zyyy: 0 1t q 6 q 1b 1 f 1 5 n 1 v 1 ch 13 5 5 2 k 38 1 9 1 6 1 1 1 hp 1 6 1 e 1 3 1 w 1 4c 1 ec 1 3l 2 yh
 1 b9 4 82 1 167 3 1z 2 5n 2 1 1 y5 1 d 1 7 4 1 6 1 3 2 1 lh c 2 2f 1 b 3 b 1 f h x 1r 12 1 3 2 6 1 r 1 h 15 3 4
 if p b l ps 74 hg 2 w 1 2x e8 2m b6 c 4 5 1 1 1 p f 8 4 4 2j 2 3 1 2i 2 43 g w 10 1o 1s v 29 1b 1 2g 4o 534 1s
 hkw y 2u 3 4l a 6s 1 4g 1 az 1 e 2 g5u 2 5s a m z 1 j 1 4 43 1 1 w q 6 q b a 1 19 2 1s 7 1 7 a 5 76 3 4 19 3 9
 28 d 1f 19 6c r 10o4 4 3os 38 1o 6u a 13 2 1q 3 h 8 2 7 u 4 1p 6t k c 2f 9 p 3r 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1
 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 84 2 1e 41d 1w 24 1p jm 18 4 2s c f 2 f 1 f 1 11 a 4u 1k q 1 2
 d 18 4 9 7 2 e 6 4a rc 5 g 3 d 3 38 c 2h 7 c 4 1 f c 4 1k 8 a 6 14 8 u 2 2 26 9g c e 2 5 3 5 3 7 9 t 3 b 5 6 a
 a 6 8 8 7 9 43 1 1j 11 a gvlz 1 u 2o
Coptic Copt: rm e 80g 38 5 7
Cuneiform Xsux: 1kw0 pm 2u 33 1 5 b 5g
Cypriot Cprt: 1g5c 6 2 1 1 18 1 2 3 1 2 1
Cypro_Minoan Cpmn: 1nyo 2r
Cyrillic Cyrl: sg 3p 2 4p 4ls 9 4i 1 24 1 38n w nr4 2o ham 2
Deseret Dsrt: 1fcw 28
Devanagari Deva: 1s0 29 4 f 2 q vhc w
Dives_Akuru Diak: 1ji8 7 2 1 2 8 1 2 1 u 1 2 2 c 9 a
Dogra Dogr: 1jb4 1o
Duployan Dupl: 2fpc 2z 5 d 3 9 7 a 2 4
Egyptian_Hieroglyphs Egyp: 1o1s tr 1 9
Elbasan Elba: 1fk0 14
Elymaic Elym: 1hpc n
Ethiopic Ethi: 3k0 21 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v 2 w 3 q 546 n 9 7 1 7 1 7 1
 7 1 7 1 7 1 7 1 7 opu 6 2 6 2 6 9 7 1 7 1qk1 7 1 4 1 2 1 f
Georgian Geor: 3a8 12 1 1 5 1 2 17 1 4 2a8 17 2 3 37k 12 1 1 5 1
Glagolitic Glag: 8ow 2o 2e1s 7 1 h 2 7 1 2 1 5
Gothic Goth: 1f74 r
Grantha Gran: 1ibk 4 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 2 1 6 1 5 7 2 7 3 5
Greek Grek: og 4 1 3 2 4 1 1 4 1 1 1 1 3 1 1 1 k 1 1r e g 4yu 5 1e 5 4 5 2c 1 8w m 2 6 2 12 2 6 2 8 1 1 1 1 1 1
 1 v 2 1h 1 f 1 e 2 6 1 j 2 3 1 9 87 1 rb2 1 gyi 27 h 1 155r 1y
Gujarati Gujr: 22p 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7
Gunjala_Gondi Gong: 1kdc 6 1 2 1 11 1 2 1 6 7 a
Gurmukhi Guru: 1z5 3 1 6 4 2 2 m 1 7 1 2 1 2 1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 h
Han Hani: 96o q 1 2h c 5y 1b 1 1 1 p 9 e 4 qs 534 1s g74 hkw a6 2 2y n48 2 c 2 sge wyo w 37d 7 66 2 4g2 e 5rl
 2e7 f2 15u 3t7
Hangul Hang: 3cw 74 5ym 2 75 2m 35 v 1t v nhd t hv 8mc c n 4 1d 7tw v 3 6 2 6 2 6 2 3
Hanifi_Rohingya Rohg: 1h4w 14 8 a
Hanunoo Hano: 4kg l
Hatran Hatr: 1gbk j 1 2 5 5
Hebrew Hebr: 13l 1j 8 r 4 6 1cfc q 1 5 1 1 1 2 1 2 1 a
Hiragana Hira: 9j5 2e 6 3 23q9 7z 1c 3 crx 1
Imperial_Aramaic Armi: 1g74 m 1 9
Inherited Zinh: lc 34 7p 2 ck b q 1 kg 4 3ff v e9 3 1 d 1 7 4 1 6 1 3 2 5i 1s ek 2 5e x 309 4 2z 2 14kl g g e r3
 1 6a 1 38a 1 1138 1a 2 n f4 3 h 8 2 7 u 4 h45u 6o
Inscriptional_Pahlavi Phli: 1gtc j 5 8
Inscriptional_Parthian Prti: 1gsg m 2 8
Javanese Java: xhc 26 2 a 4 2
Kaithi Kthi: 1hts 1v a 1
Kannada Knda: 2gw d 1 3 1 n 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 2
Katakana Kana: 9lt 2i 2 3 6o g 5s 1b 1 2g 14b2 a 1 19 ytu 4 1 7 1 2 1 1 7z 3 1t 4
Kayah_Li Kali: xds 1a 1 1
Kharoshthi Khar: 1gjk 4 1 2 5 8 1 3 1 t 2 3 4 a 7 9
Khitan_Small_Script Kits: 20o4 1 5cr d2
Khmer Khmr: 4n4 2m 2 a 6 a di w
Khojki Khoj: 1i4g i 1 18
Khudawadi Sind: 1i9c 1n 5 a
Lao Laoo: 2v5 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 6 2 a 2 4
Latin Latn: 1t q 6 q 1b 1 f 1 5 n 1 v 1 ch 13 5 55n 12 6 1d 5 4 5 d 1 1y 1t 74 a9 1 d 1 g d 3x 2 6 1 r 1 h 15
 253 w o82 2u 3 1s 5 2 1 1 1 5 o e mo 17 1 9 1 4 fpy 7 t6 q 6 q 1lx 6 1 16 1 9 16it v
Lepcha Lepc: 5j4 1k 3 f 3 3
Limbu Limb: 4xs v 1 c 4 c 4 1 3 c
Linear_A Lina: 1fr4 8n 9 m a 8
Linear_B Linb: 1ekg c 1 q 1 j 1 2 1 f 2 e y 3f
Lisu: wk0 1c o8g 1
Lycian Lyci: 1f28 t
Lydian Lydi: 1gdc q 5 1
Mahajani Mahj: 1hzk 13
Makasar Maka: 1ko0 p
Malayalam Mlym: 2kg d 1 3 1 1f 1 3 1 6 4 g 2 q
Mandaic Mand: 1mo s 2 1
Manichaean Mani: 1gow 13 4 c
Marchen Marc: 1k6o w 2 m 1 e
Masaram_Gondi Gonm: 1kao 7 1 2 1 18 3 1 1 2 1 9 8 a
Medefaidrin Medf: 20cg 2j
Meetei_Mayek Mtei: xr4 n 5l 1a 2 a
Mende_Kikakui Mend: 2oe8 5h 2 g
Meroitic_Cursive Merc: 1ggw o 4 k 2 1a
Meroitic_Hieroglyphs Mero: 1gg0 w
Miao Plrd: 20hs 23 4 1l 7 h
Modi: 1iww 1x b a
Mongolian Mong: 4qo 2 2 1 1 k 6 2h 7 17 1e45 d
Mro Mroo: 1zk0 v 1 a 4 2
Multani Mult: 1i80 7 1 1 1 4 1 f 1 b
Myanmar Mymr: 35s 4g u9s v 2p w
Nabataean Nbat: 1g8w v 8 9
Nandinagari Nand: 1jmo 8 2 1a 2 b
New_Tai_Lue Talu: 51c 18 4 q 6 b 3 2
Newa: 1iio 2k 1 5
Nko Nkoo: 1j4 1n 2 3
Nushu Nshu: 20o1 1 cy6 b0
Nyiakeng_Puachue_Hmong Hmnp: 2n0g 19 3 e 2 a 4 2
Ogham Ogam: 4g0 t
Ol_Chiki Olck: 5lc 1c
Old_Hungarian Hung: 1h1c 1f d 1f 7 6
Old_Italic Ital: 1f5s 10 9 3
Old_North_Arabian Narb: 1gn4 w
Old_Permic Perm: 1f80 17
Old_Persian Xpeo: 1fa8 10 4 e
Old_Sogdian Sogo: 1hj4 14
Old_South_Arabian Sarb: 1gm8 w
Old_Turkic Orkh: 1gxs 21
Old_Uyghur Ougr: 1hm8 q
Oriya Orya: 269 3 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 i
Osage Osge: 1fhs 10 4 10
Osmanya Osma: 1fgg u 2 a
Pahawh_Hmong Hmng: 1zpc 1y a a 1 7 1 l 5 j
Palmyrene Palm: 1g80 w
Pau_Cin_Hau Pauc: 1juo 1l
Phags_Pa Phag: x8g 1k
Phoenician Phnx: 1gcg s 3 1
Psalter_Pahlavi Phlp: 1gu8 i 7 4 c 7
Rejang Rjng: xf4 10 b 1
Runic Runr: 4gw 23 3 b
Samaritan Samr: 1kw 1a 2 f
Saurashtra Saur: xa8 1y 8 c
Sharada Shrd: 1i0w 2o
Shavian Shaw: 1ff4 1c
Siddham Sidd: 1itc 1i 2 12
SignWriting Sgnw: 2l8g i4 f 5 1 f
Sinhala Sinh: 2o1 3 1 i 3 o 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 3 1fcc k
Sogdian Sogd: 1hkg 16
Sora_Sompeng Sora: 1hw0 p 7 a
Soyombo Soyo: 1jrk 2b
Sundanese Sund: 5fk 1s 74 8
Syloti_Nagri Sylo: x6o 19
Syriac Syrc: 1ds e 1 1o 2 3 7k b
Tagalog Tglg: 4jk m 9 1
Tagbanwa Tagb: 4m8 d 1 3 1 2
Tai_Le Tale: 500 u 2 5
Tai_Tham Lana: 55s 1r 1 t 2 b 6 a 6 e
Tai_Viet Tavt: xog 1v o 5
Takri Takr: 1j0g 1m 6 a
Tamil Taml: 29u 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6 1 e l 1ih1 1e d 1
Tangsa Tnsa: 1zlc 27 1 a
Tangut Tang: 20o0 1 v 4qg 8 lc e8 9
Telugu Telu: 2dc d 1 3 1 n 1 g 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 9
Thaana Thaa: 1hc 1e
Thai: 2rl 1m 5 s
Tibetan Tibt: 2yo 20 1 10 4 13 1 10 1 f 1 7 4 2
Tifinagh Tfng: 8xc 1k 7 2 e 1
Tirhuta Tirh: 1im8 20 8 a
Toto: 2nbk v
Ugaritic Ugar: 1f9c u 1 1
Vai Vaii: wlc 8c
Vithkuqi Vith: 1fn4 b 1 f 1 7 1 2 1 b 1 f 1 7 1 2
Wancho Wcho: 2ncw 1m 5 1
Warang_Citi Wara: 1jfk 2b c 1
Yezidi Yezi: 1hfk 16 1 3 2 2
Yi Yiii: vls wd 3 1j
Zanabazar_Square Zanb: 1jpc 20
"""

PROPERTIES = """
Alphabetic: 1t q 6 q 1b 1 a 1 4 1 5 n 1 v 1 cq 4 c e 5 7 1 1 1 2e 1 16 5 1 2 2 4 1 1 6 1 1 3 1 1 1 k 1 2b 1 3v 8
 4m 1 12 2 1 6 15 13 e 1 1 1 2 1 2 1 1 8 r 4 4 t b 5 1k 1 7 e 2u 1 8 4 8 4 3 a 3 2 1 g 1c d 2t o x 9 2 4 1 5 o 2
 j j p 7 b 5 o 1 6 h 16 a c 3 7 6 24 1 g 1 3 4 f d j 1 8 2 2 2 m 1 7 1 1 3 4 3 8 2 2 2 2 1 1 8 1 4 2 1 5 c 2 a 1
 4 3 1 6 4 2 2 m 1 7 1 2 1 2 1 2 4 5 4 2 2 2 4 1 7 4 1 1 h 6 b 3 1 9 1 3 1 m 1 7 1 2 1 5 3 9 1 3 1 2 3 1 f 4 l 4
 4 3 1 8 2 2 2 m 1 7 1 2 1 5 3 8 2 2 2 2 9 2 4 2 1 5 d 1 g 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 3 3 1
 6 1 14 4 1 8 1 3 1 n 1 g 3 8 1 3 1 3 8 2 1 3 2 1 2 4 s 4 1 8 1 3 1 n 1 a 1 5 3 8 1 3 1 3 8 2 6 2 1 4 d 2 d d 1
 3 1 15 2 8 1 3 1 3 1 1 5 4 7 5 m 6 1 3 1 i 3 o 1 9 1 1 2 7 8 6 1 1 1 8 i 2 d 1m 5 7 6 1 1f 2 1 1 1 5 1 o 1 1 1
 j 1 3 2 5 1 1 6 1 e 4 w 1 1r 8 1 10 4 h 6 g 1 10 1v 1j 1 1 2 5 g 1s a 4 2 12 1 1 5 1 2 17 1 99 1 4 2 7 1 1 1 4
 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v 11 g g 2e 2 6 3 h8 2 h 1 q 5 23 3 b 7 k b l c k c d 1 3 1 2 c 1g
 2 j e 1 4 1 1v 2h 7 17 5 1y a v 1 c 4 9 n u 2 5 b 18 4 q 1i s 4 1r 2 k 1e 1 n 2 b 3 1d 1g 1 f 1 8 1f 16 2 4 a
 18 1 b e 1j m 3 a 10 2 9 7 17 2 3 15 4 1 6 1 2 3 1 5 5c 13 e b 7q 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 7 1 1
 3 3 1 7 3 4 2 6 4 d 5 3 1 7 38 1 d 1 g d 2t 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 h 15 ml 1g 1ee 6d
 6 4 3 2 c 12 1 1 5 1 2 1k 7 1 g n 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 w 1b 1 d1 3 p 9 7 5 2 5 4 2e 6 3 1 2i 1 4 5
 17 1 2m h w 1c g e8 534 1s h3h 1v 1a 2 7h 3 g a 2 k 1b 5 8 3 35 13 9 2 2v 2 1s 5 2 1 1 1 5 o k 1 x o 1g c 1w 1
 1 18 6 3 1 1 3 a x 5 z d t 3 1f 1 c f 1 g g a 5 1 1j 9 e i n 3 1x 1 1 1 1 o 3 2 g 2 4 b 6 2 6 2 6 9 7 1 7 1 17
 1 e 6 3f l 8mc c n 4 1d 6is a6 2 2y 12 7 c 5 5 c 1 d 1 5 1 1 1 2 1 2 1 30 x a3 i 1s 2 1i 14 c 38 5 1 3r 10 q 6
 q b 2h 3 6 2 6 2 6 2 3 z c 1 q 1 j 1 2 1 f 2 e y 3f 1x 1h 7f t 3 1d 1b w d u 5 17 5 u 2 10 4 8 1 5 16 4e i 10 4
 10 4 14 8 1g c b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n a n 9 v 1t j
 1 2 a m a q 1y 1k 6 2 1s 4 1 2 5 8 1 3 1 t 16 t 3 t z 8 1 s r 1i a m a j d i 32 21 1j 1f d 1f d 14 9k 16 1 2 3
 2 26 t a 1 8 m 16 i 1a l r n 9 1y 17 5 c 1j 9 1 d p n 1f h 4 8 z 3 1 9 1s 1 4 9 2 a 1 1 1 z i 1 y 2 1 6 1 1t 7
 1 1 1 4 1 f 1 a 7 1l n 4 1 8 2 2 2 m 1 7 1 2 1 5 3 8 2 2 2 2 3 1 6 1 5 7 4c 1u 1 3 1 4 k 3 u 1u 2 2 1 1 54 1i 2
 7 p 6 y 1r 1 1 3 1 1n 1i 2 1 1z r 2 e l 7 55 1l 2v 1s v 8 2 1 2 8 1 2 1 u 1 2 2 2 2 4 2l 8 2 1a 2 6 1 1 1 2 r
 1f 2 a h 20 5 1 i 21 7b 9 1 19 1 7 1 1 1d u 2 m 1 e 21 7 1 2 1 18 3 1 1 2 1 3 1 1 2 2 o 6 1 2 1 11 1 2 1 4 1 1
 93 n 55 1 27 pm 2u 33 h 5g 218 2p f tr 34h g7 6nt ft 7 v h 27 h u i 1c g 4 v l 5 j j4 1s 3k 23 4 1l 7 h 1s 2 1
 1 c 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 19 3 h 4 8 b0 1s4 2z 5 d 3 9 7 a 4 1 4m9 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1
 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 8 1f8 v 69 7 1 h 2 7
 1 2 1 5 5x 19 a 7 g 1 8x u i 18 z8 7 1 4 1 2 1 f 1 5h 1n 1w 3 1 3 1 xg 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4
 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h hg q 6 q 6 q 2uu wyo
 w 37d 7 66 2 4g2 e 5rl 2e7 f2 15u 3t7
ID_Start: 1t q 6 q 1b 1 a 1 4 1 5 n 1 v 1 cq 4 c e 5 7 1 1 1 3l 5 1 2 2 4 1 1 6 1 1 3 1 1 1 k 1 2b 1 3v 8 4m 1
 12 2 1 6 15 1z r 4 4 19 17 z 2 1 2r 1 1 f 2 7 2 a 3 2 1 g 1 1 u t 2h b 1 o x 9 2 4 1 5 m 4 1 9 1 3 1 n p 7 b 5
 o 1 6 h 16 1m 1i 3 1 i 1 7 a f g 4 8 2 2 2 m 1 7 1 1 3 4 3 1 g 1 d 2 1 3 e 2 a 1 8 6 4 2 2 m 1 7 1 2 1 2 1 2 v
 4 1 1 j 3 g 9 1 3 1 m 1 7 1 2 1 5 3 1 i 1 f 2 n 1 b 8 2 2 2 m 1 7 1 2 1 5 3 1 u 2 1 3 f 1 h 1 1 6 3 3 1 4 3 2 1
 1 1 2 3 2 3 3 3 c m 1 1g 8 1 3 1 n 1 g 3 1 q 3 2 1 2 2 u 1 4 8 1 3 1 n 1 a 1 5 3 1 v 2 1 2 f 2 h 9 1 3 1 15 2 1
 g 1 5 3 8 3 o 6 5 i 3 o 1 9 1 1 2 7 1m 1c 1 2 c 7 1m 2 1 1 1 5 1 o 1 1 1 a 1 2 9 1 2 5 1 1 l 4 w 1 1r 8 1 10 r
 5 37 17 k 1 g 6 4 4 3 1 3 2 7 3 4 d c 1 h 12 1 1 5 1 2 17 1 99 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f
 1 1l 1 4 2 1v 11 g g 2e 2 6 3 h8 2 h 1 q 5 23 3 b 7 i d j e i e d 1 3 f 1g z 1 4 1 1v 2h 7 15 1 1 5 1y a v 1d u
 2 5 b 18 4 q 1i n 9 1h 2a 1 2l 1b h 8 1i u d 2 a 18 q 10 15 3 a 10 2 9 7 17 2 3 15 4 1 6 1 2 3 1 5 5c 1s 7q 2 6
 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 38 1 d 1 g d 2t 1 4 1 2 a 1 1 2 6 6 1 1 1
 1 1 1 g 2 4 5 5 4 1 h 15 22f 6d 6 4 3 2 c 12 1 1 5 1 2 1k 7 1 g n 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 fa 3 p 9 7 5
 2 5 4 2e 4 5 1 2i 1 4 5 17 1 2m h w 1c g e8 534 1s h3h 1v 1a 2 7h 3 g a 2 k 1b g v 2 28 13 9 2 2v 2 1s 5 2 1 1
 1 5 o g 1 3 1 4 1 n t 1g e 1e 1q 6 3 1 1 2 b s a n p t 7 1b s 1 g 5 1 a a 5 1 15 n 3 1 8 k n 3 1 3 1e 1 1 3 2 2
 5 2 1 1 1 o 3 2 b 7 3 c 6 2 6 2 6 9 7 1 7 1 17 1 e 6 37 t 8mc c n 4 1d 6is a6 2 2y 12 7 c 5 5 1 1 a 1 d 1 5 1 1
 1 2 1 2 1 30 x a3 i 1s 2 1i 14 c 38 5 1 3r 10 q 6 q b 2h 3 6 2 6 2 6 2 3 z c 1 q 1 j 1 2 1 f 2 e y 3f 1x 1h 7f
 t 3 1d 1b w d u 5 12 a u 2 10 4 8 1 5 16 4e i 10 4 10 4 14 8 1g c b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o
 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n a n 9 v 1t j 1 2 a m a q 1y 1k 6 2 1s 1 f 4 1 3 1 t 16 t 3 t z 8 1 s r 1i
 a m a j d i 32 21 1j 1f d 1f d 10 9o 16 6 2 26 t a 1 8 m 16 i 1a l r n c 1h 1l 2 2 1 d 19 w p q 10 t 1 2 1 8 z
 3 1 c 1c e 4 l 1 1 1 z i 1 p 2c 7 1 1 1 4 1 f 1 a 7 1b 12 8 2 2 2 m 1 7 1 2 1 5 3 1 i 1 c 5 4e 1h i 4 k 3 u 1c
 k 2 1 1 54 1b 15 4 10 1c k 1 1n 17 d 1 1z r 11 7 55 18 38 1s v 8 2 1 2 8 1 2 1 o f 1 1 1 2m 8 2 13 g 1 1 1 s 1
 a 14 7 1 l 1 b 1a j 1 i 21 7b 9 1 11 h 1 1d u 34 7 1 2 1 12 l 1 p 6 1 2 1 w e 1 93 j 59 1 27 pm 2u 33 h 5g 218
 2p f tr 34h g7 6nt ft 7 v h 27 h u i 1c g 4 v l 5 j j4 1s 3k 23 5 1 1u d 1s 2 1 1 s 4qg 8 ye 16 9 6w7 4 1 7 1 2
 1 83 19 3 h 4 8 b0 1s4 2z 5 d 3 9 7 a 4me 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1
 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 8 1f8 v dd 19 a 7 g 1 8x u i 18 z8 7 1 4 1 2 1 f 1 5h 1n 1w
 7 1 xg 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1
 4 1 1 1 a 1 h 5 3 1 5 1 h 3es wyo w 37d 7 66 2 4g2 e 5rl 2e7 f2 15u 3t7
ID_Continue: 1c a 7 q 4 1 1 q 1b 1 a 1 1 1 2 1 5 n 1 v 1 cq 4 c e 5 7 1 1 1 h 39 1 2 2 4 1 1 6 5 1 1 1 k 1 2b 1
 3v 1 5 2 4m 1 12 2 1 6 15 8 19 1 1 1 2 1 2 1 1 8 r 4 4 t b 5 22 4 2u 1 8 2 a 1 j 2 1 g 1n 2 2t e 1i 4 1 2 1 2
 1a i s 4 b 5 o 1 6 9 22 1 3l 2 a 1 j 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 c a 1 1 1 2 3 1 6 4 2 2
 m 1 7 1 2 1 2 1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 g b 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 a 9 7 1 3 1
 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 a 1 1 g 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3 3 c 4 5 3 3 1 4 2 1 6
 1 e a g d 1 3 1 n 1 g 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a g 4 1 8 1 3 1 n 1 a 1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 2 d
 d 1 3 1 1f 1 3 1 5 5 4 7 5 2 a a 6 1 3 1 i 3 o 1 9 1 1 2 7 3 1 4 6 1 1 1 8 6 a 2 2 d 1m 5 f 1 a 13 2 1 1 1 5 1
 o 1 1 1 n 2 5 1 1 1 6 2 a 2 4 w 1 n 2 6 a b 1 1 1 1 1 4 a 1 10 4 k 1 i 1 10 9 1 1l 22 6 26 2 12 1 1 5 1 2 17 1
 99 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v 2 3 9 9 e g g 2e 2 6 3 h8 2 h 1 q 5 23 3 b 7
 m 9 m b k c d 1 3 1 2 c 2c 3 1 4 2 2 a x 3 1 b 6 2h 7 17 5 1y a v 1 c 4 c a 14 2 5 b 18 4 q 6 b 11 s 4 1r 1 t 2
 b 6 a d 1 8 e 1 g 1d 25 3 a h 9 c 38 c 1k 8 a 3 1d 2 9 7 17 2 3 g 3 1 13 5 eu 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v
 2 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 1u 2 j 1 s 1 d 1 g d 1f d 4 1 3 c h 1 4 1 2 a 1 1 2 6 6 1 1 1 1 1 1 g
 2 4 5 5 4 1 h 15 22f 6d 6 9 c 12 1 1 5 1 2 1k 7 1 f o 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 w ed 3 p f 1 5 2 5 4 2e
 2 7 1 2i 1 4 5 17 1 2m h w 1c g e8 534 1s h3h 1v 1a 2 7h 3 s k 1c 4 a 1 37 11 9 2 2v 2 1s 5 2 1 1 1 5 o 1i 4 1
 j 1g c 1y a a 6 o 3 1 1 1d 2 10 c t 3 1t e b 6 v 1 1j 9 e 2 a 6 n 3 21 o 3 2 g 2 5 a 6 2 6 2 6 9 7 1 7 1 17 1 e
 6 3f 1 2 2 a 6 8mc c n 4 1d 6is a6 2 2y 12 7 c 5 5 c 1 d 1 5 1 1 1 2 1 2 1 30 x a3 i 1s 2 1i 14 c 4 g g g 3 2 o
 3 w 5 1 3r j a 7 q 4 1 1 q b 2h 3 6 2 6 2 6 2 3 z c 1 q 1 j 1 2 1 f 2 e y 3f 1x 1h 3s 1 3m t 3 1d f 1 v w d u 5
 17 5 u 2 10 4 8 1 5 16 4e 2 a 6 10 4 10 4 14 8 1g c b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x
 6 2 1 1 18 1 2 3 1 2 n a n 9 v 1t j 1 2 a m a q 1y 1k 6 2 1s 4 1 2 5 8 1 3 1 t 2 3 4 1 w t 3 t z 8 1 u p 1i a m
 a j d i 32 21 1j 1f d 1f d 14 8 a 92 16 1 2 3 2 26 t a 1 8 x v m 16 l r n 9 1z v g 9 1o 7 1 d p 7 a 6 1h 1 a 4
 4 8 10 2 1 9 1x 4 4 1 d 1 1 z i 1 11 6 1 1t 7 1 1 1 4 1 f 1 a 7 1n 5 a 6 4 1 8 2 2 2 m 1 7 1 2 1 5 1 a 2 2 2 3
 2 1 6 1 5 7 2 7 3 5 3v 23 5 a 4 4 u 1y 1 1 8 a 4m 1i 2 9 n 6 y 1t 3 1 b a 12 1l 7 a 1i r 2 f 4 a 6 7 55 1n 2t
 22 l 8 2 1 2 8 1 2 1 u 1 2 2 9 c a 1y 8 2 1a 2 8 1 2 r 1r 8 1 8 22 3 1 i 21 7b 9 1 19 1 9 f a o u 2 m 1 e 21 7
 1 2 1 18 3 1 1 2 1 9 8 a 6 6 1 2 1 11 1 2 1 6 7 a 8m n 55 1 27 pm 2u 33 h 5g 218 2p f tr 34h g7 6nt ft 7 v 1 a
 6 27 1 a 6 u 2 5 b 1j 9 4 c a 9 l 5 j j4 1s 3k 23 4 1l 7 h 1s 2 1 2 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 19 3
 h 4 8 b0 1s4 2z 5 d 3 9 7 a 3 2 3mp 1a 2 n f2 5 3 6 8 8 2 7 u 4 44 3 cb 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1
 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 8 2 1e e8 1j 4 1e 8 1 e 1 m 5
 1 f uo v 69 7 1 h 2 7 1 2 1 5 5x 19 3 e 2 a 4 1 8x v h 1m yu 7 1 4 1 2 1 f 1 5h b 7 15 24 4 a x2 4 1 r 1 2 1 1
 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5
 1 h 2lw a sm wyo w 37d 7 66 2 4g2 e 5rl 2e7 f2 15u 3t7 fcmt 6o
Emoji: z 1 6 1 5 a 33 1 4 1 68d 1 c 1 60 1 m 1 2i 6 f 2 a7 2 c 1 4m 1 p b 4 3 5j 1 6f 2 a 1 9 1 1m 4 1 5 9 1 2 1
 2 2 2 1 4 1 2 1 1 2 2 1 3 1 3 2 8 3 5 1 1 1 5 c b 2 2 1 1 2 1 1 i 1 2 2 i 6 1 1 1 2 3 2 5 1 2 2 4 2 b 2 5 2 2 1
 5 2 1 1 1 2 k 2 5 6 1 4 2 1 4 1 2 1 2 6 1 1 2 1 1 1 1 1 6 1 3 1 6 1 a 2 f 1 2 1 4 1 1 1 4 3 1 1 b 2 1c 3 9 1 e
 1 e 1 ac 2 cv 3 j 2 1f 1 4 1 yi 1 c 1 gp 1 1 1 2fze 1 5m 1 4g 2 c 2 e 1 2 a 23 q 1 2 n 1 k 1 2 9 l 2 4u y 2 34
 2 2 1 3 2 2b 2 3 1 7b 1 1r b 6 1 o 7 2 2 8 c 1 2 4 2 1 4 2 d 2 2 1 8 2 9 1 5 3 c 3 8 3 2 1 1 1 4 1 6 1 3 1 6 2e
 1c 1y 5 8 2 3 5 9 3 1 1 2 3 1 2 a 6b c 4 1 7v 1b 1 a 1 55 34 5 3 5 3 7 9 t 3 b 5 6 a a 6 8 8 7
Emoji_Presentation: 6xm 2 5p 4 3 1 2 1 eh 2 l 2 1e c 17 1 j 1 d 1 8 2 h 2 5 2 8 1 5 1 l 1 7 2 1 1 4 1 2 1 7 1 4
 2 s 1 z 1 1 1 4 3 1 1 1p 3 o 1 e 1 nv 2 1f 1 4 1 2hf2 1 5m 1 5a 1 2 a 23 q 1 1 o 1 k 1 2 5 1 3 l 2 4u x c 9 1
 1y 1 m c 17 4 5 c h 3 1 3 1z 1 1 1 57 2 1r d 4 1 o i 1 q 2 d 1 2e 2d 1c 1y 6 1 3 3 2 3 5 3 b 2 7 9 6b c 4 1 7v
 1b 1 a 1 55 34 5 3 5 3 7 9 t 3 b 5 6 a a 6 8 8 7
Extended_Pictographic: 4p 1 4 1 68d 1 c 1 60 1 m 1 2i 6 f 2 a7 2 c 1 2n 1 1y 1 p b 4 3 5j 1 6f 2 a 1 9 1 1m 4 1
 6 1 c 1 36 a 3a 2 b 1 1 1 1 6 1 3 1 6 1 a 2 f 1 2 1 4 1 1 1 4 3 1 1 b 5 19 3 9 1 e 1 e 1 ac 2 cv 3 j 2 1f 1 4 1
 yi 1 c 1 gp 1 1 1 2fza 74 d 3 v 1 1o 6 c 2 e 1 2 a i 1l r f a 1 k 1 2 9 1 4 9 c2 5 8u 8 7e 1c 3k 38 c 2d 17 c 4
 1k 8 a 6 14 8 u 2a c 1b 1 a 1 c9 74 se
Ideographic: 9hi 2 p 9 e 3 qt 534 1s g74 hkw a6 2 2y n4a 1 r 4qg 8 ye 16 9 76v b0 f7o wyo w 37d 7 66 2 4g2 e 5rl
 2e7 f2 15u 3t7
Cased: 1t q 6 q 1b 1 a 1 4 1 5 n 1 v 1 5f 1 4 4 5s 1 10 7 2 u 5 2o 1 16 4 2 2 2 4 1 1 6 1 1 3 1 1 1 k 1 2b 1 3v
 8 4m 1 12 9 15 26v 12 1 1 5 1 2 17 2 3 io 2e 2 6 1oi 9 7 17 2 3 1s 5c 1s 7q 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2
 1h 1 7 1 1 3 3 1 7 3 4 2 6 4 d 5 3 1 7 38 1 d 1 g d 2t 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 6 4 1 2 4 5 5 4 1 h
 w 3 2 mp 1g 1ee 6d 6 4 3 2 c 12 1 1 5 1 nwy 1a i u 3o 2u 3 4 1 1n 5 2 1 1 1 5 r 2 1 3 mt 17 1 d 7 28 fnk 7 c 5
 sp q 6 q x1 28 2o 10 4 10 38 b 1 f 1 7 1 2 1 b 1 f 1 7 1 2 cj 1 2 3 1 16 1 9 xx 1f d 1f 2b1 1s gv4 1s k1s 2d 1
 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 p 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1
 p 1 8 1f8 a 1 k 1y9 1w 1kc q 6 q 6 q
Math: 17 1 g 3 v 1 t 1 1 1 19 1 4 1 11 1 v 1 k8 3 2 1 q 2 2 3 en 3 559 1 r 3 b 1 3 1 d 1 e 4 l 5 b 5 1t d 4 1 3
 2 4 5 i 1 4 1 2 a 1 1 2 6 6 1 3 2 2 2 1 3 1 6 3 e 1 1 1w o 1 6 1 2 4 2 4 w 1 1 6 2 e 7g 8 4 k 2 2i 1 u r 1 1 o
 1 b 7 cd 2 c a 4 6 4 2 2 2 3 5 e 1 1 1 2 6 b 8 5 2 1l 1 1 1 t 4 9 3 9c 1s 74 e8 1c l 2 6 1524 1 mv 6 1 1 4i 1 g
 3 t 1 1 1 t 1 1 1 3n 1 6 4 15w3 2d 1 1z 1 2 2 1 2 2 2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2
 84 2 1e 4cg 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2 1 1 2 4 1 7 1
 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2
Dash: 19 1 124 1 1f 1 2td 1 sl 1 1l5 6 1p 1 13 1 f 1 au 1 2dg 1 2 1 v 2 4 1 s 1 ce 1 j 1 33 1 14ls 2 11 1 a 1 4p
 1 333 1
"""

EXTENSIONS = """
Adlam: 17j 1 w 1
Arabic: 170 1 e 1 3 1 w 1 a b q 1 1cr1 2 140 s
Bengali: 1u9 2 h 2 3u2 1 1 1 2 2 1 1 8 1 8 1 2 1 4 1 2 3 rnd 1
Bopomofo: 9hd 3 4 a 1 d a 4 2 1 6 1 5f 1 14jt 2 7u 5
Buginese: xjj 1
Buhid: 4l1 2
Chakma: 1ye a 18w a
Common: 170 1 e 1 3 1 w 1 mb 2 1hx 1 189 2 5n 2 1 1 y5 1 d 1 7 4 1 6 1 3 2 1 ms 1 2s3 1 cd 3 2 1 1 a 1 d g 6 1 1
 4 4 2j 2 3 1 2i 2 43 g w 10 1o 14 1k 1d f c 1f 1 2g p a 5 2o v mpt 8 88 a 6s 1 4g 1 gha 2 79 2 7u 5 a 1 19 2 9s
 3 4 19 3 9 bl r 10o4 4 4ho i 63i 2
Coptic: 1f4w s
Cypriot: 1erk 3 4 19 3 9
Cypro_Minoan: 1erk 2
Cyrillic: w5 2 50x 1 37u 1
Devanagari: 1u9 2 h 2 3u2 13 1 2 s6 1 qpr a
Dogra: 1us c vcw a
Duployan: 2fts 4
Georgian: 3cr 1
Glagolitic: w4 1 2 1 88r 1 nqj 1
Grantha: 1u9 2 h 2 hs e 3bw 1 1 2 u 3 3 2 s6 1 1buy 1 2hg 2 1 1
Greek: n6 1 2 1 58a 2
Gujarati: 1u9 2 h 2 vd6 a
Gunjala_Gondi: 1us 2
Gurmukhi: 1u9 2 h 2 vd6 a
Han: 9hd 3 2 1 1 a 1 d a 4 2 1 6 1 4 4 57 1 44 g w 10 1o 14 1k 1d f c 1f 1 2g p a 5 2o v mpt 8 h8d 2 7u 5 15ve i
 63i 2
Hangul: 9hd 3 4 a 1 d g 1 6 1 5f 1 14jt 2 7u 5
Hanifi_Rohingya: 170 1 e 1 3 1 w 1 43 1
Hanunoo: 4l1 2
Hiragana: 9hd 3 4 a 1 d g 6 1 1 4 2 2j 4 3 1 2i 2 14js 2 7u 5 a 1 19 2
Inherited: n6 1 2 1 t d 7p 2 ck b q 1 kg 2 3ul 3 1 d 1 7 4 1 6 1 3 2 5i 2 1i 1 1 1 l1 1 309 4 2z 2 15j9 1 38a 1
Javanese: xjj 1
Kaithi: 1uu a vcw a
Kannada: 1u9 2 h 2 3u2 1 1 1 7 1 n 1 1 1 ri3 6
Katakana: 9hd 3 4 a 1 d g 6 1 1 4 2 2j 4 3 1 2i 2 14js 2 7u 5 a 1 19 2
Kayah_Li: xf2 1
Khojki: 25i a v28 a
Khudawadi: 1us 2 vd6 a
Latin: o3 d 7p 2 y2 2 1ig 1 303 1 5c 1 qhb 8 fa 1
Limbu: 1ut 1
Linear_A: 1err 19
Linear_B: 1erk 3 4 19 3 9
Mahajani: 1us c vcw a
Malayalam: 1u9 2 h 2 3uc 1 rit 3
Mandaic: 18g 1
Manichaean: 18g 1
Masaram_Gondi: 1us 2
Modi: x80 a
Mongolian: 4qq 2 1 1 1m1 1
Multani: 21y a
Myanmar: xf2 1
Nandinagari: 1us 2 ow a 35l 1 8 1 7 1 rhx 6
Nko: 170 1 e 1 3 1 1cta 2
Old_Permic: w3 1
Old_Uyghur: 18g 1 1fht 1
Oriya: 1u9 2 h 2 3uc 1 n 1
Phags_Pa: 4qq 2 1 1
Psalter_Pahlavi: 18g 1
Sharada: 1u9 1 3ut 1 1 1 2 2 2 1
Sinhala: 1us 2
Sogdian: 18g 1
Syloti_Nagri: 1us 2 3k a
Syriac: 170 1 e 2 2 1 w 1 a b q 1 4nb 1 1 1
Tagalog: 4l1 2
Tagbanwa: 4l1 2
Tai_Le: 37k a
Takri: 1us 2 vd6 a
Tamil: 1u9 2 h 2 3uc 1 ro8 1 ky5 1 1 1 1j 2
Telugu: 1u9 2 h 2 3uc 1 n 1
Thaana: 170 1 e 2 2 1 1s a 1cw8 1 a 1
Tirhuta: 1u9 2 h 2 3v0 1 ri5 a
Yezidi: 170 1 e 1 3 1 1s a
Yi: 9hd 2 5 a 2 8 67 1 14rp 5
"""
"""By script: the code points that are in either `Script` or `Script_Extensions`, but not in both."""
