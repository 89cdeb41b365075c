"""A report with filters, a form and tabs."""

import streamlit as st

st.set_page_config(page_title="Sales", layout="wide")
st.title("Sales report")
shop = st.sidebar.radio("Shop", ["Town", "Farm", "Online"])
years = st.sidebar.slider("Years", 2018, 2025, (2020, 2024))
returns = st.sidebar.checkbox("Include returns")
st.sidebar.button("Reload figures")
table, entry, about = st.tabs(["Table", "New sale", "About"])
with table:
    rows = [
        {"year": y, "shop": shop, "sales": 100 + 7 * (y % 9) - (5 if returns else 0)}
        for y in range(years[0], years[1] + 1)
    ]
    st.table(rows)
    st.button("Download", disabled=True)
with entry, st.form("sale"):
    buyer = st.text_input("Buyer")
    product = st.selectbox("Product", ["Jam", "Cider", "Seedling"])
    count = st.number_input("Quantity", 1, 99, 3)
    remark = st.text_area("Remark")
    if st.form_submit_button("Add sale"):
        st.success(f"Added {count} {product} for {buyer}. {remark}")
with about:
    st.write("Figures of the cooperative.")
    with st.expander("How they are counted"):
        st.write("By the day of delivery.")
