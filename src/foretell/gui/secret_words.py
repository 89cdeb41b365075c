"""How secrets are spoken of, in the languages that people use, and what is a secret by its looks. Patterns only."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACED = (
    r"pass(?:word|code|phrase|wd)?s?|pwd|pins?|puk|tans?|secrets?|tokens?|credentials?|cvv|cvc|csc|otp|totp|2fa|mfa",
    r"(?:api|access)[ _-]?keys?|client[ _-]secrets?|private key|seed phrase|mnemonic|bearer|session (?:id|cookie)s?",
    r"security (?:code|answer|number|word)s?|one[- ]time (?:code|pin)s?|ssn|social security|iban|passport number",
    r"(?:verification|confirmation|login|sign-?in|auth(?:entication|orization)?)[ _-](?:code|key|phrase)s?",
    r"(?:access|recovery|backup|activation|sms|unlock)[ _-](?:code|key|phrase)s?|(?:credit |debit )?card numbers?",
    r"passwort|passwörter|kennwort|geheimzahl|geheimnummer|zugangscode|prüfnummer|sicherheitscode",
    r"mot de passe|code secret|code pin|code de (?:vérification|sécurité)|clé (?:api|secrète)",
    r"contraseñas?|clave(?: secreta)?|código de (?:verificación|seguridad)",
    r"senhas?|palavra-passe|chave secreta|código de (?:segurança|verificação)",
    r"parola d'ordine|codice (?:segreto|di verifica)|chiave segreta",
    r"wachtwoord|pincode|hasł[oa]|heslo|jelszó|lösenord|adgangskode|passord|salasana|şifre|parola|mật khẩu|kata sandi",
    r"κωδικός|парол\w*|пин-?код\w*|код подтверждения|секретн\w+ (?:код|ключ)|токен\w*",
)
_JOINED = (
    r"密码|密碼|口令|验证码|驗證碼|校验码|动态码|密钥|密鑰|令牌|パスワード|暗証番号|認証コード|確認コード|秘密鍵|合言葉",
    r"비밀번호|암호|인증번호|인증 ?코드|รหัสผ่าน|पासवर्ड",
    r"كلمة (?:ال)?(?:مرور|سر)|الرقم السري|رمز التحقق|סיסמ[הא]|קוד ה?(?:אימות|סודי)",
)  # scripts in which words are joined to their neighbours
WORDS = rf"(?:\b(?:{'|'.join(_SPACED)})\b|{'|'.join(_JOINED)})"
WEAK = re.compile(r".*s|secret|token|credential|2fa|mfa|bearer|social security|parola|clave", re.IGNORECASE)
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
_LOOKS = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]{8,}|\b(?:sk|pk|rk)[-_][\w-]{12,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|"
    r"\bglpat-[\w-]{12,}|\bxox[abeoprs]-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bhf_\w{16,}|"
    r"\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*|\b\d{3}-\d{2}-\d{4}\b|"
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
)
_CARD = re.compile(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])")


def secret_looks(text: str) -> Iterator[tuple[int, int]]:
    """Where a text holds what is a secret by its looks: tokens, keys, card and account numbers, a password in a URL."""
    for match in _LOOKS.finditer(text):
        yield match.span()
    for match in _CARD.finditer(text):
        if _is_card(match.group()):
            yield match.span()


def _is_card(text: str) -> bool:
    """Whether digits are the number of a card, by Luhn's check sum."""
    digits = [int(c) for c in text if c.isdigit()][::-1]
    doubled = [digit if i % 2 == 0 else 2 * digit - 9 * (digit > 4) for i, digit in enumerate(digits)]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0
