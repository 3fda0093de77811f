r"""The formula of each metric, as LaTeX.

:math:`y_i` is the truth of row :math:`i` of :math:`n`, :math:`\hat y_i` the prediction, :math:`p_i` a predicted probability,
TP, FP, FN and TN count the rows that are rightly and wrongly positive and negative, :math:`C` is the number of classes or
columns. Where rows have weights, sums and means are weighted.
"""

# ruff: noqa: E501  # a formula stands on one line

from typing import Final

_ERROR = r"y_i-\hat y_i"
_MEAN = r"\frac{1}{n}\sum_{i=1}^{n}"
_COLUMNS = r"\frac{1}{C}\sum_{c=1}^{C}"
_GROUPS = r"\frac{1}{G}\sum_{g=1}^{G}"
_F1 = r"\frac{2\,\mathrm{TP}}{2\,\mathrm{TP}+\mathrm{FP}+\mathrm{FN}}"
_F1_CLASS = r"\frac{2\,\mathrm{TP}_c}{2\,\mathrm{TP}_c+\mathrm{FP}_c+\mathrm{FN}_c}"
_AP = r"\sum_{k}(R_k-R_{k-1})\,P_k"
_CONCORDANT = r"\frac{\text{pairs in the right order}+\frac{1}{2}\,\text{ties}}{\text{comparable pairs}}"
_PINBALL = r"\max\left(\tau\,(y_i-\hat y_i),\,(\tau-1)\,(y_i-\hat y_i)\right)"
_MUTUAL = r"I(Y;\hat Y)"

FORMULAS: Final[dict[str, str]] = {
    "roc_auc": r"P(p_i>p_j)+\frac{1}{2}P(p_i=p_j),\quad y_i=1,\ y_j=0",
    "gini": r"2\,\mathrm{AUC}-1",
    "partial_roc_auc": r"\frac{1}{2}\left(1+\frac{\int_0^{f}\mathrm{TPR}\,d\mathrm{FPR}-\frac{1}{2}f^2}{f-\frac{1}{2}f^2}\right),\quad f=\mathrm{max\_fpr}",
    "average_precision": _AP,
    "log_loss": rf"-{_MEAN}\left(y_i\ln p_i+(1-y_i)\ln(1-p_i)\right)",
    "brier_score": rf"{_MEAN}(p_i-y_i)^2",
    "ks_statistic": r"\max_t\left|\mathrm{TPR}(t)-\mathrm{FPR}(t)\right|",
    "f_beta": r"\frac{(1+\beta^2)\,\mathrm{TP}}{(1+\beta^2)\,\mathrm{TP}+\beta^2\,\mathrm{FN}+\mathrm{FP}}",
    "precision": r"\frac{\mathrm{TP}}{\mathrm{TP}+\mathrm{FP}}",
    "recall": r"\frac{\mathrm{TP}}{\mathrm{TP}+\mathrm{FN}}",
    "specificity": r"\frac{\mathrm{TN}}{\mathrm{TN}+\mathrm{FP}}",
    "accuracy": rf"{_MEAN}\left[\hat y_i=y_i\right]",
    "balanced_accuracy": rf"{_COLUMNS}\frac{{\mathrm{{TP}}_c}}{{\mathrm{{TP}}_c+\mathrm{{FN}}_c}}",
    "macro_f1": rf"{_COLUMNS}{_F1_CLASS}",
    "weighted_f1": rf"\sum_{{c=1}}^{{C}}\frac{{n_c}}{{n}}\,{_F1_CLASS}",
    "macro_precision": rf"{_COLUMNS}\frac{{\mathrm{{TP}}_c}}{{\mathrm{{TP}}_c+\mathrm{{FP}}_c}}",
    "cohen_kappa": r"1-\frac{\sum_{a,b}w_{ab}\,O_{ab}}{\sum_{a,b}w_{ab}\,E_{ab}}",
    "quadratic_weighted_kappa": r"1-\frac{\sum_{a,b}(a-b)^2\,O_{ab}}{\sum_{a,b}(a-b)^2\,E_{ab}}",
    "matthews_correlation": r"\frac{\mathrm{cov}(y,\hat y)}{\sqrt{\mathrm{cov}(y,y)\,\mathrm{cov}(\hat y,\hat y)}}",
    "class_log_loss": rf"-{_MEAN}\ln p_{{i,y_i}}",
    "class_brier_score": rf"{_MEAN}\sum_{{c=1}}^{{C}}\left(p_{{ic}}-[y_i=c]\right)^2",
    "macro_roc_auc": rf"{_COLUMNS}\mathrm{{AUC}}(c\text{{ against the others}})",
    "top_k_accuracy": rf"{_MEAN}\left[y_i\in\text{{the }}k\text{{ most probable}}\right]",
    "mean_roc_auc": rf"{_COLUMNS}\mathrm{{AUC}}_c",
    "mean_average_precision": rf"{_COLUMNS}{_AP}",
    "mean_log_loss": r"-\frac{1}{nC}\sum_{i,c}\left(y_{ic}\ln p_{ic}+(1-y_{ic})\ln(1-p_{ic})\right)",
    "hamming_loss": r"\frac{1}{nC}\sum_{i,c}\left[\hat y_{ic}\neq y_{ic}\right]",
    "subset_accuracy": rf"{_MEAN}\left[\hat Y_i=Y_i\right]",
    "sample_f1": rf"{_MEAN}\frac{{2\,|Y_i\cap\hat Y_i|}}{{|Y_i|+|\hat Y_i|}}",
    "jaccard": rf"{_MEAN}\frac{{|Y_i\cap\hat Y_i|}}{{|Y_i\cup\hat Y_i|}}",
    "label_macro_f1": rf"{_COLUMNS}{_F1_CLASS}",
    "label_micro_f1": _F1,
    "ranking_average_precision": rf"{_MEAN}\frac{{1}}{{|Y_i|}}\sum_{{c\in Y_i}}\frac{{|\{{d\in Y_i:p_{{id}}\geq p_{{ic}}\}}|}}{{|\{{d:p_{{id}}\geq p_{{ic}}\}}|}}",
    "rmse": rf"\sqrt{{{_MEAN}({_ERROR})^2}}",
    "mae": rf"{_MEAN}\left|{_ERROR}\right|",
    "mse": rf"{_MEAN}({_ERROR})^2",
    "rmsle": rf"\sqrt{{{_MEAN}\left(\ln(1+y_i)-\ln(1+\hat y_i)\right)^2}}",
    "median_absolute_error": rf"\mathrm{{median}}_i\left|{_ERROR}\right|",
    "max_error": rf"\max_i\left|{_ERROR}\right|",
    "mape": rf"{_MEAN}\left|\frac{{{_ERROR}}}{{y_i}}\right|",
    "rmspe": rf"\sqrt{{{_MEAN}\left(\frac{{{_ERROR}}}{{y_i}}\right)^2}}",
    "smape": rf"{_MEAN}\frac{{2\left|{_ERROR}\right|}}{{|y_i|+|\hat y_i|}}",
    "wape": rf"\frac{{\sum_i\left|{_ERROR}\right|}}{{\sum_i|y_i|}}",
    "huber_loss": rf"{_MEAN}h({_ERROR}),\quad h(e)=\begin{{cases}}\frac{{1}}{{2}}e^2&|e|\leq\delta\\\delta\left(|e|-\frac{{1}}{{2}}\delta\right)&|e|>\delta\end{{cases}}",
    "log_cosh_loss": rf"{_MEAN}\ln\cosh({_ERROR})",
    "r_squared": rf"1-\frac{{\sum_i({_ERROR})^2}}{{\sum_i(y_i-\bar y)^2}}",
    "explained_variance": r"1-\frac{\mathrm{var}(y-\hat y)}{\mathrm{var}(y)}",
    "pearson": r"\frac{\mathrm{cov}(y,\hat y)}{\sigma_y\,\sigma_{\hat y}}",
    "spearman": r"\frac{\mathrm{cov}(\mathrm{rank}\,y,\mathrm{rank}\,\hat y)}{\sigma_{\mathrm{rank}\,y}\,\sigma_{\mathrm{rank}\,\hat y}}",
    "kendall": r"\frac{P-Q}{\sqrt{(P+Q+T_y)(P+Q+T_{\hat y})}}",
    "concordance_correlation": r"\frac{2\,\mathrm{cov}(y,\hat y)}{\sigma_y^2+\sigma_{\hat y}^2+(\bar y-\bar{\hat y})^2}",
    "mcrmse": rf"{_COLUMNS}\sqrt{{{_MEAN}(y_{{ic}}-\hat y_{{ic}})^2}}",
    "mean_column_mae": rf"{_COLUMNS}{_MEAN}\left|y_{{ic}}-\hat y_{{ic}}\right|",
    "poisson_deviance": r"\frac{2}{n}\sum_{i=1}^{n}\left(y_i\ln\frac{y_i}{\hat y_i}-y_i+\hat y_i\right)",
    "gamma_deviance": r"\frac{2}{n}\sum_{i=1}^{n}\left(\ln\frac{\hat y_i}{y_i}+\frac{y_i}{\hat y_i}-1\right)",
    "tweedie_deviance": r"\frac{2}{n}\sum_{i=1}^{n}\left(\frac{y_i^{2-p}}{(1-p)(2-p)}-\frac{y_i\hat y_i^{1-p}}{1-p}+\frac{\hat y_i^{2-p}}{2-p}\right),\quad p=\mathrm{power}",
    "haversine_km": r"\frac{2R}{n}\sum_{i=1}^{n}\arcsin\sqrt{\sin^2\frac{\hat\varphi_i-\varphi_i}{2}+\cos\varphi_i\cos\hat\varphi_i\sin^2\frac{\hat\lambda_i-\lambda_i}{2}},\quad R=6371.0088",
    "pinball_loss": rf"{_MEAN}{_PINBALL}",
    "mean_pinball_loss": rf"\frac{{1}}{{L}}\sum_{{\tau}}{_MEAN}{_PINBALL}",
    "d2_pinball": r"1-\frac{\text{pinball loss of the prediction}}{\text{pinball loss of the quantile of }y}",
    "interval_score": rf"{_MEAN}\left(u_i-l_i+\frac{{2}}{{\alpha}}\max(l_i-y_i,0)+\frac{{2}}{{\alpha}}\max(y_i-u_i,0)\right)",
    "coverage_gap": rf"\left|{_MEAN}\left[l_i\leq y_i\leq u_i\right]-(1-\alpha)\right|",
    "crps_ensemble": rf"{_MEAN}\left(\frac{{1}}{{M}}\sum_{{m}}|x_{{im}}-y_i|-\frac{{1}}{{2M^2}}\sum_{{m,m'}}|x_{{im}}-x_{{im'}}|\right)",
    "crps_normal": rf"{_MEAN}\sigma_i\left(z_i\left(2\Phi(z_i)-1\right)+2\varphi(z_i)-\frac{{1}}{{\sqrt{{\pi}}}}\right),\quad z_i=\frac{{y_i-\mu_i}}{{\sigma_i}}",
    "normal_log_loss": rf"{_MEAN}\left(\frac{{1}}{{2}}\ln(2\pi\sigma_i^2)+\frac{{(y_i-\mu_i)^2}}{{2\sigma_i^2}}\right)",
    "map_at_k": rf"{_MEAN}\frac{{1}}{{\min(|Y_i|,k)}}\sum_{{j=1}}^{{k}}P_i(j)\left[\hat y_{{ij}}\in Y_i\right]",
    "ndcg_at_k": rf"{_MEAN}\frac{{\sum_{{j=1}}^{{k}}[\hat y_{{ij}}\in Y_i]/\log_2(j+1)}}{{\sum_{{j=1}}^{{\min(|Y_i|,k)}}1/\log_2(j+1)}}",
    "mrr_at_k": rf"{_MEAN}\frac{{1}}{{\text{{place of the first true item, up to }}k}}",
    "recall_at_k": rf"{_MEAN}\frac{{|Y_i\cap\hat Y_i^k|}}{{|Y_i|}}",
    "precision_at_k": rf"{_MEAN}\frac{{|Y_i\cap\hat Y_i^k|}}{{k}}",
    "hit_rate_at_k": rf"{_MEAN}\left[Y_i\cap\hat Y_i^k\neq\varnothing\right]",
    "group_ndcg": rf"{_GROUPS}\frac{{\mathrm{{DCG}}_k(\hat y)}}{{\mathrm{{DCG}}_k(y)}},\quad\mathrm{{DCG}}_k=\sum_{{j=1}}^{{k}}\frac{{\mathrm{{gain}}_j}}{{\log_2(j+1)}}",
    "group_map": rf"{_GROUPS}{_AP}",
    "group_mrr": rf"{_GROUPS}\frac{{1}}{{\text{{place of the first relevant row}}}}",
    "mase": rf"{_MEAN}\frac{{\left|{_ERROR}\right|}}{{s_i}}",
    "rmsse": rf"{_GROUPS}\sqrt{{\frac{{1}}{{n_g}}\sum_{{i\in g}}\frac{{({_ERROR})^2}}{{s_g}}}}",
    "dice": rf"{_MEAN}\frac{{2\,|M_i\cap\hat M_i|}}{{|M_i|+|\hat M_i|}}",
    "mask_iou": rf"{_MEAN}\frac{{|M_i\cap\hat M_i|}}{{|M_i\cup\hat M_i|}}",
    "pooled_dice": r"\frac{2\sum_i|M_i\cap\hat M_i|}{\sum_i\left(|M_i|+|\hat M_i|\right)}",
    "coco_map": rf"\frac{{1}}{{10}}\sum_{{t=0.5}}^{{0.95}}{_COLUMNS}\mathrm{{AP}}_c(\mathrm{{IoU}}\geq t)",
    "coco_ap50": rf"{_COLUMNS}\mathrm{{AP}}_c(\mathrm{{IoU}}\geq 0.5)",
    "exact_match": rf"{_MEAN}\left[\hat a_i=a_i\right]",
    "token_f1": rf"{_MEAN}\frac{{2\,P_iR_i}}{{P_i+R_i}}",
    "word_error_rate": r"\frac{\sum_i\text{edits of words}_i}{\sum_i\text{words}_i}",
    "character_error_rate": r"\frac{\sum_i\text{edits of characters}_i}{\sum_i\text{characters}_i}",
    "rouge_l": rf"{_MEAN}\frac{{2\,P_iR_i}}{{P_i+R_i}},\quad P_i=\frac{{\mathrm{{LCS}}_i}}{{|\hat a_i|}},\ R_i=\frac{{\mathrm{{LCS}}_i}}{{|a_i|}}",
    "bleu": r"100\,\min\left(1,e^{1-r/c}\right)\left(\prod_{m=1}^{4}P_m\right)^{1/4}",
    "chrf": r"100\,\frac{(1+\beta^2)\,P\,R}{\beta^2P+R},\quad\beta=2",
    "concordance_index": _CONCORDANT,
    "risk_concordance": _CONCORDANT,
    "adjusted_rand": r"\frac{\mathrm{RI}-E[\mathrm{RI}]}{1-E[\mathrm{RI}]}",
    "normalized_mutual_information": rf"\frac{{2\,{_MUTUAL}}}{{H(Y)+H(\hat Y)}}",
    "adjusted_mutual_information": rf"\frac{{{_MUTUAL}-E[{_MUTUAL}]}}{{\frac{{1}}{{2}}\left(H(Y)+H(\hat Y)\right)-E[{_MUTUAL}]}}",
    "fowlkes_mallows": r"\sqrt{\frac{\mathrm{TP}}{\mathrm{TP}+\mathrm{FP}}\cdot\frac{\mathrm{TP}}{\mathrm{TP}+\mathrm{FN}}}",
    "homogeneity": r"1-\frac{H(Y|\hat Y)}{H(Y)}",
    "completeness": r"1-\frac{H(\hat Y|Y)}{H(\hat Y)}",
}
"""By the metric's name, in the order of the catalogue."""
