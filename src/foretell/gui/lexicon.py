"""Words on buttons in the languages that people use, folded as labels are: what agrees, what refuses, what is final."""

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
