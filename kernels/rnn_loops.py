"""What one step of an LSTM or a GRU does to each unit, in compiled loops; `rnn.py` has the same on whole arrays."""

from .fused import exp, inline, select
from .parallel import compiled


@inline
def sigmoid(x):
    return 1.0 / (1.0 + exp(-x))


@inline
def tanh(x):
    """Near 0 by its series, where the exponentials would cancel."""
    s = x * x
    near = x * (1.0 + s * (-0.333333333 + s * (0.133333333 + s * (-0.053968254 + s * 0.0218694885))))
    return select(s < 0.0625, near, 1.0 - 2.0 / (1.0 + exp(2.0 * x)))


@compiled
def lstm_step(gates, recurrent, bias, acts, old, c, h, out):
    """Gates (n, 4 H) before their activation are the sum of the first three arguments; c and h are updated in place."""
    size = c.shape[1]
    bi, bf, bg, bo = bias[:size], bias[size : 2 * size], bias[2 * size : 3 * size], bias[3 * size :]
    for row in range(len(gates)):
        x, r, a = gates[row], recurrent[row], acts[row]
        xi, xf, xg, xo = x[:size], x[size : 2 * size], x[2 * size : 3 * size], x[3 * size :]
        ri, rf, rg, ro = r[:size], r[size : 2 * size], r[2 * size : 3 * size], r[3 * size :]
        ai, af, ag, ao = a[:size], a[size : 2 * size], a[2 * size : 3 * size], a[3 * size :]
        c_row, h_row, old_row, out_row = c[row], h[row], old[row], out[row]
        for j in range(size):
            i, f = sigmoid(xi[j] + ri[j] + bi[j]), sigmoid(xf[j] + rf[j] + bf[j])
            g, o = tanh(xg[j] + rg[j] + bg[j]), sigmoid(xo[j] + ro[j] + bo[j])
            ai[j], af[j], ag[j], ao[j] = i, f, g, o
            old_row[j] = c_row[j]
            cell = f * c_row[j] + i * g
            c_row[j] = cell
            hidden = o * tanh(cell)
            h_row[j] = hidden
            out_row[j] = hidden


@compiled
def lstm_step_backward(grad, dh, dc, acts, old, dgates):
    """The gradient of the gates before their activation; dc is updated in place."""
    size = dc.shape[1]
    for row in range(len(grad)):
        a, d = acts[row], dgates[row]
        ai, af, ag, ao = a[:size], a[size : 2 * size], a[2 * size : 3 * size], a[3 * size :]
        di, df, dg, do = d[:size], d[size : 2 * size], d[2 * size : 3 * size], d[3 * size :]
        g_row, dh_row, dc_row, old_row = grad[row], dh[row], dc[row], old[row]
        for j in range(size):
            i, f, g, o, before = ai[j], af[j], ag[j], ao[j], old_row[j]
            t = tanh(f * before + i * g)
            dhidden = g_row[j] + dh_row[j]
            do[j] = dhidden * t * o * (1 - o)
            dcell = dc_row[j] + dhidden * o * (1 - t * t)
            di[j] = dcell * g * i * (1 - i)
            df[j] = dcell * before * f * (1 - f)
            dg[j] = dcell * i * (1 - g * g)
            dc_row[j] = dcell * f


@compiled
def gru_step(gates, recurrent, bias, acts, extra, h, out):
    """Gates (n, 3 H): see `lstm_step`. `extra` keeps the recurrent part of the new gate, which the reset gate
    scales."""
    size = h.shape[1]
    br, bz, bn = bias[:size], bias[size : 2 * size], bias[2 * size :]
    for row in range(len(gates)):
        x, r, a = gates[row], recurrent[row], acts[row]
        xr, xz, xn = x[:size], x[size : 2 * size], x[2 * size :]
        rr, rz, rn = r[:size], r[size : 2 * size], r[2 * size :]
        ar, az, an = a[:size], a[size : 2 * size], a[2 * size :]
        h_row, extra_row, out_row = h[row], extra[row], out[row]
        for j in range(size):
            reset, update = sigmoid(xr[j] + rr[j] + br[j]), sigmoid(xz[j] + rz[j] + bz[j])
            linear = rn[j] + bn[j]
            new = tanh(xn[j] + reset * linear)
            ar[j], az[j], an[j], extra_row[j] = reset, update, new, linear
            hidden = (h_row[j] - new) * update + new
            h_row[j] = hidden
            out_row[j] = hidden


@compiled
def gru_step_backward(grad, dh, acts, before, extra, dgates, drecurrent):
    """The gradients of the two parts of the gates; dh becomes what reaches the hidden state directly."""
    size = dh.shape[1]
    for row in range(len(grad)):
        a, d, r = acts[row], dgates[row], drecurrent[row]
        ar, az, an = a[:size], a[size : 2 * size], a[2 * size :]
        dr, dz, dn = d[:size], d[size : 2 * size], d[2 * size :]
        rr, rz, rn = r[:size], r[size : 2 * size], r[2 * size :]
        g_row, dh_row, before_row, extra_row = grad[row], dh[row], before[row], extra[row]
        for j in range(size):
            reset, update, new = ar[j], az[j], an[j]
            dhidden = g_row[j] + dh_row[j]
            dnew = dhidden * (1 - update) * (1 - new * new)
            dreset = dnew * extra_row[j] * reset * (1 - reset)
            dupdate = dhidden * (before_row[j] - new) * update * (1 - update)
            dr[j], dz[j], dn[j] = dreset, dupdate, dnew
            rr[j], rz[j], rn[j] = dreset, dupdate, dnew * reset
            dh_row[j] = dhidden * update
