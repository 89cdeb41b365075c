"""Forms, nouns and phrases for what cannot be taken back, beside the plain words in `lexicon`; folded as labels are.

Words that are as often nouns as verbs ("order", "post") count only where they stand as verbs; nouns ("payment") only
together with a word that carries them out ("confirm").
"""

from __future__ import annotations

from foretell.gui.lexicon import FINAL
from foretell.gui.wording import folded


def _list(text: str) -> tuple[str, ...]:
    """Folded words; an underscore is a blank."""
    return tuple(folded(word.replace("_", " ")) for word in text.split())


NOUNS_TOO = frozenset(_list("""
    order post transfer purchase checkout replace publish pedir ordina pubblica publique commander
    نشر دفع شراء تحويل العبر
"""))  # fmt: skip
GRAVE = {
    folded(verb): frozenset(_list(objects))
    for verb, objects in {
        "format": """disk disks drive drives partition volume card usb stick device ssd hdd sd storage computer pc""",
        "reset": """pc computer device phone account accounts settings data everything all factory database network
                    server system browser app key keys token tokens""",
        "empty": "bin trash basket cart recycle mailbox inbox wastebasket dustbin spam",
        "drop": "table tables database collection schema index all view user",
        "wire": "money funds amount payment usd eur gbp dollars euros",
    }.items()
}  # what these verbs have to act on, where they are used of light things as well
LIGHT_ALONE = frozenset(_list("reset drop"))  # those that a button may bear alone
VERBS = (FINAL - NOUNS_TOO - GRAVE.keys()) | frozenset(_list("""
    withdraw obliterate discard cancella
    absenden verschicken versenden loeschen ueberweisen bestelle sende lösche überweise kaufe
    envoyez supprimez payez achetez commandez effacez publiez
    suprimir suprime envía envíe elimina elimine borre pague paga compre transfiera sobrescriba
    deletar envie pague exclua apague
    inviare eliminare acquistare pagare sovrascrivere trasferisci bonifica spedisci
    verstuur versturen verzend verwijder betaal koop bestel overmaken
    wysłać usunąć zapłacić zamów przelej opublikuj nadpisz zastąp skasuj
    удали отправь оплати купи закажи стереть отправляем удаляем оплатите удалите отправьте купите закажите
    보내다 삭제하다 전송 이체
    أرسل احذف ادفع اشتر انشر
    למחוק לשלוח לשלם לקנות לפרסם
"""))  # fmt: skip
UNSPACED = tuple(word for word in VERBS | frozenset(_list("""
    傳送 送出 覆寫 取代 發布 轉帳 轉賬 匯款 汇款 转出 下单 提交订单 确认订单 結帳 格式化 卸载
    支払いを 支払いする 支払いへ進んで確定 振り込む 振込する 注文を確定 消去 投稿する
    移到废纸篓 移至垃圾箱 移到回收站 移至垃圾桶 ゴミ箱に移動 ゴミ箱に入れる ゴミ箱へ移動
""")) if "\u3040" <= word[0] <= "\u9fff" and len(word) > 1)  # fmt: skip
DELETIONS = _list("删除 刪除 清空")  # Chinese: what follows them is deleted, be it a history or a setting
DELETION_NOUNS = _list("的 失败 成功 方法 方式 者 时间 次数 原因 记录方法")
UNSPACED_NOUNS = _list(
    "履歴 方法 方式 記録 记录 历史 歷史 一覧 設定 设置 済み 済 日 者 先 サイト 类型 失败 成功 管理 的 箱 条件 明細 通知"
)  # what follows an irreversible word where it is part of a noun: the history of orders, the means of payment
UNSPACED_BEFORE = _list("已 未 未读 取消 不 撤销 撤回 最近 打开 已经 请勿 不要 不会")
KOREAN = _list("삭제 결제 구매 송금 이체 전송 주문 게시 보내")
KOREAN_ENDINGS = ("", *_list("""
    하기 합니다 하겠습니다 할게요 해요 하세요 기 한다 하다
    하시겠습니까 하시겠어요 할까요 하려면 됩니다
"""))  # fmt: skip

CARRIES_OUT = _list("""
    confirm submit make complete authoriz authoris approve execute finali place release perform
    bestatig ausfuhr abschlie freigeb durchfuhr tatig abschick auslos
    effectu valid finalis passe realis
    realiz efectu complet autoriz hacer haz fazer faz efetu conclu
    conferm effettu esegu
    bevestig voltooi uitvoer plaats potwierd wykonaj zloz zrealiz
    подтверд выполн соверш оформ провести
    확인 확정 진행 확정하 تأكيد اتمام אישור אשר
""")  # beginnings of words
CARRIED_OUT = _list("""
    payment deletion transfer purchase order transaction donation withdrawal
    zahlung überweisung löschung bestellung kauf
    paiement suppression virement achat commande
    pago transferencia eliminación compra pedido
    pagamento transferência exclusão bonifico acquisto ordine eliminazione
    betaling verwijdering bestelling aankoop overboeking płatność przelew zakup zamówien usunięci
    оплат платеж удален перевод покупк заказ
    결제 삭제 송금 이체 주문 구매 الدفع الحذف الشراء תשלום מחיקה
""")  # beginnings of words
PHRASES = tuple(
    tuple(one.split())
    for one in _list("""
    cancella_tutto cancella_definitivamente svuota_il_cestino svuota_cestino sposta_nel_cestino
    move_to_trash move_to_the_trash move_to_bin move_to_the_bin move_to_recycle_bin send_to_trash empty_trash
    remove_permanently remove_for_good permanently_remove remove_forever remove_everything
    discard_permanently clear_all_data
    sell_all sell_now force_push factory_reset close_account_permanently
    jetzt_zahlen verbindlich_buchen kostenpflichtig_buchen jetzt_buchen in_den_papierkorb papierkorb_leeren
    endgültig_entfernen
    mettre_à_la_corbeille déplacer_vers_la_corbeille vider_la_corbeille régler_la_commande régler_la_facture
    mover_a_la_papelera vaciar_papelera mover_para_a_lixeira mover_para_lixeira esvaziar_lixeira
    naar_prullenbak przenieś_do_kosza переместить_в_корзину очистить_корзину 휴지통으로_이동
""")
)
ALONE = frozenset(
    _list("régler envoi kasseren תשלום שליחה מחיקה")
)  # labels of one word that say more than within others

AFTER_NOUN = frozenset(_list("""
    title titles history number numbers status details detail id ids date dates by name names list lists summary type
    types code codes office box body author authors options settings menu field fields page pages info information
    method methods form forms fee fees limit limits zoom view filter filters layout down downs state value preview rate
    template templates tab column columns width size tracking confirmation total items item count content per of is are
    was
    speed rate slip slips stub stubs mode orders with area space region painter style styles log logs report
    reports dialog section panel sort asc desc
    tags category categories link
    verlauf nummer status historique numéro historial número estado storico стиль 수단 내역 방법 정보 목록 설정
"""))  # fmt: skip
NEGATIONS = frozenset(
    _list("""
    not don't dont doesn't won't cannot can't never undo without cancel stop avoid avoids avoiding prevent prevents
    nicht ne pas no non sin senza sans não nao не annuler cancelar annulla отменить
""")
)
BETWEEN = frozenset(_list("be been being to get getting ever yet the from accidentally"))  # from a negation to its verb
HARMLESS = tuple(
    tuple(one.split())
    for one in _list("""
    send_to_back send_to_front send_to_the_back send_backward send_backwards send_feedback send_code send_test_code
    send_a_copy_to_myself send_receive send_a_code pay_nothing pays_nothing pay_attention
    pay_slip pay_slips pay_stub pay_stubs pay_period
    pay_periods pay_rate pay_rates pay_scale pay_grade pay_later buy_&_sell buy_and_sell buy_later
    delete_key delete_keys delete_log
    remit_address donation_history payment_history kaufen_sie_ein enviar_a_un_amigo
    reset_password ordina_alfabeticamente
""")
)  # in which an irreversible word does something else
LEAD_INS = frozenset(_list("""
    yes ok okay please now just and & to then also finally definitely i we you will would like want to am going should
    must need have let us me let's i'll we'll next first so click tap press slide swipe hold
    ja bitte jetzt endgültig kostenpflichtig oui maintenant définitivement sí si ahora definitivamente sim agora
    adesso ora да сейчас
"""))  # fmt: skip
CONSENTS = frozenset(_list(
    "yes ok okay i ja oui sí si sim da да continue proceed agree confirm understood understand ich je yo eu"
))  # fmt: skip
INTO = frozenset(_list("to into onto in on zum vers a al nel в"))
PRONOUNS = frozenset(_list("us me sie uns nous nos vous them him her"))  # "send us ..." is prose
BINS = frozenset(_list("""
    trash bin recycle wastebasket dustbin garbage papierkorb corbeille papelera cestino lixeira prullenbak kosza корзину
"""))  # fmt: skip
