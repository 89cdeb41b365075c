"""How secrets are spoken of, in the languages that people use. Patterns only.

They match texts in any case; a word ends at an underscore or a capital within a name, as in `db_password` and
`accessToken`. What is inflected is known by its stem.
"""

from __future__ import annotations

import re
import unicodedata

_END = r"[^\W\d_]{0,8}"  # of an inflected or a compound word
_SPACED = (
    r"pass(?:word|code|phrase|wd)?s?|pwd|pins?|puk|tans?|secrets?|credentials?|cvv|cvc|csc|cv[vc]2|otp|totp|2fa|mfa",
    r"pass[ -](?:word|code|phrase)s?|\d[- ]digit (?:code|pin)s?|(?:two-factor|2-step|authenticator|auth) codes?",
    r"(?:auth|access|refresh|api|csrf|bearer|session|id)?tokens?|(?:api|access|secret)[ _-]?keys?|bearer",
    r"(?:private|ssh|gpg|pgp|signing|encryption|deploy|licen[cs]e|product)[ _-]?keys?|client[ _-]?secrets?|mnemonic",
    r"security[ _-](?:code|answer|number|word)s?|one[- ]time (?:code|pin)s?|ssn|social security|iban|passport number",
    r"(?:verification|confirmation|login|sign-?in|auth(?:entication|orization)?)[ _-](?:code|key|phrase)s?",
    r"(?:access|recovery|backup|activation|sms|unlock)[ _-](?:code|key|phrase)s?|(?:credit |debit )?card[ _]numbers?",
    r"seed[ _-]phrase|session[ _-]?(?:id|cookie)s?",
    r"geheimzahl(?:en)?|geheimnummern?|zugangs(?:code|daten)|anmeldedaten|prüfnummern?|sicherheitscodes?",
    r"(?:einmal|freigabe|bestätigungs|entsperr)codes?|(?:pin|tan|puk)-nummern?|(?:toegangs|beveiligings)codes?",
    r"mots? de passe|codes? secrets?|codes? pin|codes? (?:de (?:vérification|sécurité)|confidentiels?|d['’]accès)",
    r"clés? (?:api|secrètes?)",
    r"contrase[nñ]y?as?|claves?(?: secretas?)?|códigos? (?:de (?:verificación|seguridad|acceso)|secretos?)|(?-i:NIP)",
    r"senhas?|palavras?-passe|chaves? secretas?|códigos? de (?:segurança|verificação|acesso)",
    rf"parole d'ordine|parola(?: d'ordine|y[ıi]|n[ıi]z?[ıi]?|m[ıi]?|s[ıi]{_END}|lar{_END}|yla)?|parolă|parolei",
    r"codic[ei] (?:segret[oi]|di (?:verifica|accesso|sicurezza)|d['’]accesso)|chiav[ei] segret[ae]",
    rf"pin-?[ck]od(?:e|en|er|erne|et|es)?s?|hasł{_END}|haseł|haśle|lozink{_END}",
    rf"hesl[aeouů]{_END}|hesel|kodeord{_END}|[şs]ifre(?!nc){_END}",
    r"mật (?:khẩu|mã)|mã xác (?:minh|nhận)",
    r"(?:kata|kode|masukkan|ketik|ubah|ganti) sandi",
    rf"κωδικ{_END}|пин-?код\w{{0,4}}|код\w{{0,2}} (?:подтверждения|доступа|(?:из|с) (?:смс|sms))",
    r"(?:смс|sms)-код\w{0,3}",
    r"секретн\w{1,3} (?:код|ключ)\w{0,3}|токен\w{0,4}",
)
_STEMS = (  # so much their own that they count within longer words
    r"passwords?|passw[oö]rt|kennw[oö]rt|passphrase|wachtwoord|l[oö]senord|adgangskod|passord|salasan|jelsz[oóa]|парол"
)
_JOINED = (
    r"密码|密碼|口令|验证码|驗證碼|校验码|动态码|密钥|密鑰|令牌|パスワード|暗証番号|認証コード|確認コード|秘密鍵|合言葉",
    r"パスコード|(?:api|アクセス|シークレット) ?キー",
    r"비밀번호|암호|패스워드|핀번호|(?:api|액세스|비밀) ?키|인증번호|인증 ?코드|รหัสผ่าน|पासवर्ड",
    r"(?<![\u0900-\u097f])पिन(?![\u0900-\u097f])",
    r"كلمة (?:ال)?(?:مرور|سر)|الرقم السري|رمز التحقق|סיסמ[האת]|סיסמאות|קוד ה?(?:אימות|סודי)",
)  # scripts in which words are joined to their neighbours
# Of scripts that join words, letters on either side are other words: "PINコード".
_JOINING = r"\u0590-\u06ff\u0900-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc"
_BEGINS = rf"(?:(?<![^\W_{_JOINING}])|(?-i:(?<=[a-z\d])(?=[A-Z])))"
_ENDS = rf"(?:(?![^\W_{_JOINING}])|(?-i:(?<=[a-z])(?=[A-Z])))"
WORDS = rf"(?:{_BEGINS}(?:{'|'.join(_SPACED)}){_ENDS}|(?:{_STEMS}){_END}|{'|'.join(_JOINED)})"
WEAK = re.compile(r".*s|secret|.*token|credential|2fa|mfa|bearer|social security|parola|clave", re.IGNORECASE)
JOINTS = "|".join(
    (
        r"is|as|of|to|is set to|ist|lautet|auf|zu|est|à|es|a|é|para|è|in|jest|är|er|olarak|это|на",
        r"是|为|為|改为|改成|设为|は|を|に|の|이|은|는|을|를|로|هي|هو|إلى|היא|הוא|ל",
    )
)
SUFFIX = r"コード|ナンバー|番号|号码|号|码|碼|번호|코드"  # "PINコード"
JOINED_LETTER = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af]")
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
