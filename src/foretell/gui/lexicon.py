"""Words on buttons in the languages that people use, folded as labels are: what agrees, what refuses, what is final,
and what is done with the entry of a row. Forms and phrases of what is final stand in `final_forms`.
"""

from __future__ import annotations

from foretell.gui.wording import folded


def _words(text: str) -> frozenset[str]:
    return frozenset(folded(word.replace("_", " ")) for word in text.split())


AGREE = _words("""
    ok okay yes send submit save confirm accept apply continue agree allow delete remove create add publish post buy pay
    order next finish login proceed approve install enable start run upload checkout
    senden speichern bestätigen löschen kaufen bezahlen weiter annehmen ja
    envoyer enregistrer confirmer supprimer acheter payer accepter oui
    enviar guardar confirmar eliminar borrar comprar pagar aceptar sí salvar excluir sim
    invia salva conferma elimina acquista
    отправить сохранить подтвердить удалить купить оплатить принять да
    发送 提交 保存 确认 确定 删除 购买 支付 同意 是 送信 確認 削除 購入 はい 보내기 저장 확인 삭제
    إرسال حفظ تأكيد حذف موافق نعم שלח שמור אישור מחק כן
""")
REFUSE = _words("""
    cancel no close discard decline deny reject back dismiss abort later skip undo
    abbrechen verwerfen ablehnen schließen zurück nein annuler refuser fermer retour non
    cancelar rechazar cerrar descartar volver fechar não annulla rifiuta chiudi indietro
    отмена отменить отклонить закрыть назад нет 取消 关闭 拒绝 放弃 返回 否 キャンセル 閉じる 拒否 戻る いいえ
    취소 닫기 거부 아니요 إلغاء رفض إغلاق رجوع لا ביטול סגור דחה חזור לא
""")
FINAL = _words("""
    send delete erase pay buy purchase order overwrite replace publish post transfer wire donate remit format wipe purge
    destroy revoke uninstall deactivate unsubscribe resign terminate shred reset empty checkout drop
    senden abschicken löschen kaufen bezahlen überweisen bestellen überschreiben ersetzen veröffentlichen kündigen
    envoyer supprimer effacer acheter payer commander écraser remplacer publier virer résilier
    enviar eliminar borrar comprar pagar pedir sobrescribir reemplazar publicar transferir
    excluir apagar sobrescrever substituir invia elimina cancella_tutto acquista paga ordina sovrascrivi sostituisci
    verzenden verwijderen betalen kopen wyślij usuń zapłać kup отправить удалить оплатить купить заказать перезаписать
    заменить опубликовать 发送 删除 支付 付款 购买 覆盖 替换 发布 转账 清空 發送 刪除 付款 購買 送信 削除 支払う
    購入 上書き 置換 公開 送金 注文 보내기 삭제 결제 구매 덮어쓰기 게시 송금 إرسال حذف دفع شراء استبدال نشر تحويل
    שלח מחק שלם קנה החלף פרסם העבר
""")
ROW_ACTIONS = FINAL | _words("""
    open view show edit rename copy duplicate move remove restore archive unarchive download upload export import share
    reply forward print preview details approve reject accept decline start stop restart pause resume enable disable
    install update upgrade run assign close reopen lock unlock follow unfollow block unblock pin unpin mute unmute
""")
