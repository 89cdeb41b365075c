"""How secrets are spoken of, in the languages that people use. Patterns only.

They match texts in any case; a word ends at an underscore or a capital within a name, as in `db_password` and
`accessToken`. What is inflected is known by its stem.
"""

from __future__ import annotations

import re
import unicodedata

_END = r"[^\W\d_]{0,8}"  # of an inflected or a compound word
_SPACED = (
    r"pass(?:word|code|phrase|wd)?s?|pwd|pins?|puk|tans?|secrets?|credentials?|cvv|cvc|csc|otp|totp|2fa|mfa",
    r"(?:auth|access|refresh|api|csrf|bearer|session|id)?tokens?|(?:api|access|secret)[ _-]?keys?|bearer",
    r"(?:private|ssh|gpg|pgp|signing|encryption|deploy|licen[cs]e|product)[ _-]?keys?|client[ _-]?secrets?|mnemonic",
    r"security[ _-](?:code|answer|number|word)s?|one[- ]time (?:code|pin)s?|ssn|social security|iban|passport number",
    r"(?:verification|confirmation|login|sign-?in|auth(?:entication|orization)?)[ _-](?:code|key|phrase)s?",
    r"(?:access|recovery|backup|activation|sms|unlock)[ _-](?:code|key|phrase)s?|(?:credit |debit )?card[ _]numbers?",
    r"seed[ _-]phrase|session[ _-]?(?:id|cookie)s?",
    r"geheimzahl(?:en)?|geheimnummern?|zugangs(?:code|daten)|anmeldedaten|prüfnummern?|sicherheitscodes?",
    r"mots? de passe|codes? secrets?|codes? pin|codes? de (?:vérification|sécurité)|clés? (?:api|secrètes?)",
    r"contrase[nñ]y?as?|claves?(?: secretas?)?|códigos? de (?:verificación|seguridad)",
    r"senhas?|palavras?-passe|chaves? secretas?|códigos? de (?:segurança|verificação)",
    r"parole d'ordine|parola(?: d'ordine|y[ıi]|n[ıi]z?[ıi]?|m[ıi]?)?",
    r"codic[ei] (?:segret[oi]|di verifica)|chiav[ei] segret[ae]",
    rf"pincodes?|hasł{_END}|haseł|hesl[aeouů]{_END}|hesel|kodeord{_END}|[şs]ifre(?!nc){_END}|mật khẩu|kata sandi",
    rf"κωδικ{_END}|пин-?код\w{{0,4}}|код\w{{0,2}} подтверждения|секретн\w{{1,3}} (?:код|ключ)\w{{0,3}}|токен\w{{0,4}}",
)
_STEMS = (  # so much their own that they count within longer words
    r"passwords?|passw[oö]rt|kennw[oö]rt|passphrase|wachtwoord|l[oö]senord|adgangskod|passord|salasan|jelsz[oóa]|парол"
)
_JOINED = (
    r"密码|密碼|口令|验证码|驗證碼|校验码|动态码|密钥|密鑰|令牌|パスワード|暗証番号|認証コード|確認コード|秘密鍵|合言葉",
    r"비밀번호|암호|인증번호|인증 ?코드|รหัสผ่าน|पासवर्ड",
    r"كلمة (?:ال)?(?:مرور|سر)|الرقم السري|رمز التحقق|סיסמ[הא]|קוד ה?(?:אימות|סודי)",
)  # scripts in which words are joined to their neighbours
_BEGINS = r"(?:(?<![^\W_])|(?-i:(?<=[a-z\d])(?=[A-Z])))"
_ENDS = r"(?:(?![^\W_])|(?-i:(?<=[a-z])(?=[A-Z])))"
WORDS = rf"(?:{_BEGINS}(?:{'|'.join(_SPACED)}){_ENDS}|(?:{_STEMS}){_END}|{'|'.join(_JOINED)})"
WEAK = re.compile(r".*s|secret|.*token|credential|2fa|mfa|bearer|social security|parola|clave", re.IGNORECASE)
JOINTS = "|".join(
    (
        r"is|as|of|to|is set to|ist|lautet|auf|zu|est|à|es|a|é|para|è|in|jest|är|er|olarak|это|на",
        r"是|为|為|改为|改成|设为|は|を|이|은|는|هي|هو|إلى|היא|הוא|ל",
    )
)
STATES = frozenset(("is", "as", "ist", "lautet", "est", "es", "é", "è", "это", "是", "为", "は", "هي", "היא"))
TYPING = (
    r"(?:\b(?:typ(?:es?|ing)|enter(?:s|ing)?|inputs?|writ(?:es?|ing)|paste|tippe|gib|eingeben|schreibe?|saisi[rs]|"
    r"entre[rz]?|tape[rz]?|escrib[aeir]+|introduc[aeir]+|digit[aeior]+|scriv[aei]+|inserisc[aei]|введи(?:те)?|ввести|"
    r"напечатай|اكتب|أدخل|הקלד|הזן)\s+|(?:输入|填写|輸入|입력)\s*[:：]?\s*)"
)
FROM = r"(?:\b(?:from|von|de|da|с|מ)\b|从|由|من)"
TO = r"(?:\b(?:to|auf|zu|in|à|a|para|per|на|ל)\b|改为|改成|变为|到|إلى)"
INTO = r"(?:\b(?:with|into|to|by|durch|auf|zu|par|por|con|met|na)\b|[-=]+>|→|⇒)"  # a new secret in place of an old one
BEFORE = r"(?:as|for|als|como|comme|come|som|jako)"  # "hunter2 as the password"
ARTICLE = r"(?:the|a|my|your|his|her|their|new|old|das|mein|dein|neues?|altes?|le|mon|la|il|mi|su|el|o)"
MADE = r"\b(?:it was|it is|make it|set it to|change it to|call it|es war|mach es zu|nimm)\s{1,4}"
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


def composed(text: str) -> str:
    """The text as these patterns expect it: letters and their marks in one, nothing unseen between letters."""
    return _UNSEEN.sub("", unicodedata.normalize("NFC", text))
